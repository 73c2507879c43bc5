/* Between the parts of the made libcuda: several devices, and the kernels that tools watch. */
#ifndef ENVBUILD_FAKE_SEVERAL_H
#define ENVBUILD_FAKE_SEVERAL_H

/* How many devices there are: gpus=N of ENVBUILD_FAKE, else one. */
int several_count(void);

/* A kernel of bugs.cu by the start of its name; NULL = none of them. */
void *bugs_function(const char *name);
/* Carries one out; -1 = the function is none of them. */
int bugs_launch(void *function, void **arguments);

#endif
