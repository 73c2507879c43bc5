/* The part of the made libcuda that multiplies: rates of tensor cores, and checks of products. */
#ifndef ENVBUILD_FAKE_PRODUCTS_H
#define ENVBUILD_FAKE_PRODUCTS_H

/* A kernel of rates.cu, rates8.cu or freivalds.cu by its name; NULL = none of them. */
void *products_function(const char *name);
/* Carries one out; -1 = the function is none of them. */
int products_launch(void *function, unsigned blocks, unsigned threads, void **arguments);

#endif
