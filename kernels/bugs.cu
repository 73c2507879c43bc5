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

/* Half of each warp comes to a barrier of the warp that names only half of these. synccheck finds it by
 * the mark that every compiler leaves beside such a barrier; one of the block that half of a warp
 * never reaches stayed unseen in code of NVRTC 11.8 for 9.0. Before 7.0, where no warp may part at
 * a barrier of the block, there is that one, too. */
PROBE void NAMED(divergent)(unsigned *data, unsigned n)
{
    data[threadIdx.x] = n;
    if (threadIdx.x % 32 < 16) {
        __syncwarp(0x0000ff00);
#if __CUDA_ARCH__ < 700
        __syncthreads();
#endif
        data[threadIdx.x] += 1;
    }
}
