/* The part of the made libcuda that suite `correct` uses. */
#ifndef ENVBUILD_FAKE_CORRECT_H
#define ENVBUILD_FAKE_CORRECT_H

/* A kernel of correct.cu, tensor8.cu or tensor4.cu by its name; NULL = none of them. */
void *correct_function(const char *name, int image);
/* Carries one out; -1 = the function is none of them. */
int correct_launch(void *function, unsigned blocks_x, unsigned blocks_y, void **arguments);
/* What the calls after a store to no memory answer; 0 = there was none. */
int correct_fault(void);

#endif
