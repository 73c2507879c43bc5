/* What a sanitizer, a debugger and a profiler are tried on: a clean kernel, and one planted bug of
 * each kind. All take n numbers and are launched as one block of n threads, n a multiple of 64. */
/* A run writes its own number over these zeros in the finished code: no report that was written
 * before can hold the name of one of its kernels. */
#define ENVBUILD_RUN 0000000000000000
#include "probe.h"

enum { MOST = 256 };

/* Each number doubled and turned around, through shared memory, with a barrier between. */
PROBE void NAMED(clean)(unsigned *data, unsigned n)
{
    __shared__ unsigned shared[MOST];
    unsigned i = threadIdx.x;
    shared[i] = 2 * data[i];
    __syncthreads();
    data[i] = shared[n - 1 - i];
}

/* The last thread writes one number past the end of the allocation. */
PROBE void NAMED(out_of_bounds)(unsigned *data, unsigned n)
{
    data[threadIdx.x + 1] = n;
}

/* The clean kernel without its barrier: another warp's number may not be there yet. */
PROBE void NAMED(race)(unsigned *data, unsigned n)
{
    __shared__ unsigned shared[MOST];
    unsigned i = threadIdx.x;
    shared[i] = 2 * data[i];
    data[i] = shared[n - 1 - i];
}

/* A barrier for the block that half of each warp never reaches. */
PROBE void NAMED(divergent)(unsigned *data, unsigned n)
{
    if (threadIdx.x % 32 < 16)
        __syncthreads();
    data[threadIdx.x] = n;
}
