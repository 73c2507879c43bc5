/* Each thread adds lane + 1 to one counter or to one of 256: by atomics, and by plain additions. */
#include "probe.h"

enum { SPREAD = 256, LATE = 20000 };

/* Places in `words`: one counter, then 256, for each of the ways below. */
#define ONE(way) (words + (way) * (1 + SPREAD))
#define MANY(way) (ONE(way) + 1)
enum { GLOBAL_I32, GLOBAL_F32, SHARED_I32, SHARED_F32, PLAIN, WAYS };

PROBE void NAMED(atomics)(int *words)
{
    __shared__ int whole[SPREAD + 1];
    __shared__ float real[SPREAD + 1];
    int value = threadIdx.x % 32 + 1, place = threadIdx.x % SPREAD;
    SHORT for (int i = threadIdx.x; i <= SPREAD; i += blockDim.x)
        whole[i] = 0, real[i] = 0;
    __syncthreads();

    /* Every other warp comes late, by cycles: without the barrier below its sums would be missed. */
    if (threadIdx.x / 32 % 2) {
        unsigned start = (unsigned)clock();
        while ((unsigned)clock() - start < LATE)
            ;
    }
    atomicAdd(ONE(GLOBAL_I32), value);
    atomicAdd(MANY(GLOBAL_I32) + place, value);
    atomicAdd((float *)ONE(GLOBAL_F32), (float)value);
    atomicAdd((float *)MANY(GLOBAL_F32) + place, (float)value);
    atomicAdd(whole, value);
    atomicAdd(whole + 1 + place, value);
    atomicAdd(real, (float)value);
    atomicAdd(real + 1 + place, (float)value);
    *(volatile int *)ONE(PLAIN) += value;
    *(volatile int *)(MANY(PLAIN) + place) += value;
    __syncthreads();

    /* A block's own sums join the others. */
    SHORT for (int i = threadIdx.x; i <= SPREAD; i += blockDim.x) {
        atomicAdd(ONE(SHARED_I32) + i, whole[i]);
        atomicAdd((float *)ONE(SHARED_F32) + i, real[i]);
    }
}

/* A launch that is taken, and one whose address may be no memory at all. */
PROBE void NAMED(store)(unsigned *to, unsigned value)
{
    *to = value;
}
