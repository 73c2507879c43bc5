/* The smallest real work: c = a + b, one element a thread. */
#include "probe.h"

/* A run names it anew, so that no code made before can pass for what it compiled. */
#ifndef ENVBUILD_ADD
#define ENVBUILD_ADD envbuild_add
#endif

PROBE void ENVBUILD_ADD(const float *a, const float *b, float *c, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
#ifdef ENVBUILD_BROKEN
    /* The control: a compiler that takes this would take anything. */
    c[i] = no_such_function("text" * a);
#endif
}
