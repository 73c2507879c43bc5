/* Memory at its widest: 16 bytes a thread and no loop. Word i of an array is slope * i + offset
 * (modulo 2^32), so that what is read can be checked where it is read. */
#include "probe.h"

enum { BLOCK = 256, BATCH = 8 }; /* threads a block, as the runner launches them; quads a thread */

typedef unsigned long long place;

/* One quad a thread. Blocks cover an array exactly: the runner rounds its size. */
static __device__ place own()
{
    return (place)blockIdx.x * BLOCK + threadIdx.x;
}

/* Not zero where the words are not first, first + 1, first + 2, first + 3. */
static __device__ unsigned differing(uint4 quad, unsigned first)
{
    return (quad.x ^ first) | (quad.y ^ (first + 1)) | (quad.z ^ (first + 2)) | (quad.w ^ (first + 3));
}

PROBE void NAMED(write)(uint4 *to, unsigned slope, unsigned offset)
{
    unsigned first = 4 * (unsigned)own() * slope + offset;
    to[own()] = make_uint4(first, first + slope, first + 2 * slope, first + 3 * slope);
}

PROBE void NAMED(copy)(uint4 *to, const uint4 *from)
{
    to[own()] = from[own()];
}

/* to = a + 3 * b */
PROBE void NAMED(triad)(uint4 *to, const uint4 *a, const uint4 *b)
{
    uint4 x = a[own()], y = b[own()];
    to[own()] = make_uint4(x.x + 3 * y.x, x.y + 3 * y.y, x.z + 3 * y.z, x.w + 3 * y.w);
}

/* Eight quads a thread of an array of slope 1; counts the threads that saw a wrong word. */
PROBE void NAMED(read)(const uint4 *from, unsigned offset, unsigned *wrong)
{
    place first = (place)blockIdx.x * (BATCH * BLOCK) + threadIdx.x;
    unsigned word = 4 * (unsigned)first + offset, bad = 0;
    uint4 quad[BATCH];
#pragma unroll
    for (int k = 0; k < BATCH; k++)
        quad[k] = from[first + k * BLOCK];
#pragma unroll
    for (int k = 0; k < BATCH; k++)
        bad |= differing(quad[k], word + 4 * k * BLOCK);
    if (bad)
        atomicAdd(wrong, 1);
}

/* The same count quads (a power of two) again and again, past the L1 cache. */
PROBE void NAMED(reread)(const uint4 *from, unsigned count, unsigned rounds, unsigned offset,
                                  unsigned *wrong)
{
    unsigned stride = gridDim.x * BLOCK, i = (unsigned)own(), bad = 0;
#pragma unroll 1
    for (unsigned r = 0; r < rounds; r++) {
        uint4 quad[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            const uint4 *at = from + ((i + k * stride) & (count - 1));
            asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                         : "=r"(quad[k].x), "=r"(quad[k].y), "=r"(quad[k].z), "=r"(quad[k].w)
                         : "l"(at));
        }
#pragma unroll
        for (int k = 0; k < BATCH; k++)
            bad |= differing(quad[k], 4 * ((i + k * stride) & (count - 1)) + offset);
        i += BATCH * stride;
    }
    if (bad)
        atomicAdd(wrong, 1);
}

/* Each address comes from the word before, so that one load of a thread is under way at a time.
 * The array holds its own indices (slope 1, offset 0), of which there are count, a power of two. */
PROBE void NAMED(chase)(const unsigned *from, unsigned count, unsigned loads, unsigned *ends)
{
    unsigned at = (unsigned)own() * 2654435761u & (count - 1);
    for (unsigned n = 0; n < loads; n++)
        at = (from[at] * 1664525u + 1013904223u) & (count - 1);
    ends[own()] = at;
}
