/* One warp's 16 x 8 elements of A * B by `mma.sync`; the operands are as in numerics.cu.
 *
 * In the text of an instruction %0 to %3 are the sums, %4 to %7 are A, %8 and %9 are B.
 */
#ifndef ENVBUILD_MMA_H
#define ENVBUILD_MMA_H

#include "probe.h"

#define ACCUMULATE(shape, c, a, b) \
    "mma.sync.aligned." shape " {" c "}, {" a "}, {" b "}, {" c "};"
#define MMA(shape) ACCUMULATE(shape, "%0,%1,%2,%3", "%4,%5,%6,%7", "%8,%9")

#if __CUDA_ARCH__ >= 800
#define MMA_F16 MMA("m16n8k16.row.col.f32.f16.f16.f32")
#define MMA_S8 MMA("m16n8k32.row.col.s32.s8.s8.s32")
#else
/* 7.5 does the same in halves and quarters. */
#define HALF(a, b) ACCUMULATE("m16n8k8.row.col.f32.f16.f16.f32", "%0,%1,%2,%3", a, b)
#define QUARTER(c, a, b) ACCUMULATE("m8n8k16.row.col.s32.s8.s8.s32", c, a, b)
#define MMA_F16 HALF("%4,%5", "%8") HALF("%6,%7", "%9")
#define MMA_S8 \
    QUARTER("%0,%1", "%4", "%8") QUARTER("%0,%1", "%6", "%9") \
    QUARTER("%2,%3", "%5", "%8") QUARTER("%2,%3", "%7", "%9")
#endif

/* letter: the constraint of a sum in assembly, "f" or "r". */
#define MULTIPLY(name, result, letter, instruction) \
    PROBE void NAMED(name)(const unsigned char *a, const unsigned char *b, result *c, unsigned k, \
                           unsigned stride_a, unsigned stride_b, unsigned n) \
    { \
        unsigned group = threadIdx.x / 4, lane = threadIdx.x % 4; \
        unsigned row = blockIdx.y * 16 + group, column = blockIdx.x * 8; \
        const unsigned *x = (const unsigned *)(a + row * (unsigned long long)stride_a) + lane; \
        const unsigned *y = \
            (const unsigned *)(b + (column + group) * (unsigned long long)stride_b) + lane; \
        const unsigned *below = (const unsigned *)((const unsigned char *)x + 8ull * stride_a); \
        result c0 = 0, c1 = 0, c2 = 0, c3 = 0; \
        SHORT for (unsigned i = 0; i < k / 4; i += 8) \
            asm volatile(instruction \
                         : "+" letter(c0), "+" letter(c1), "+" letter(c2), "+" letter(c3) \
                         : "r"(x[i]), "r"(below[i]), "r"(x[i + 4]), "r"(below[i + 4]), \
                           "r"(y[i]), "r"(y[i + 4])); \
        result *to = c + row * n + column + lane * 2; \
        to[0] = c0; \
        to[1] = c1; \
        to[8 * n] = c2; \
        to[8 * n + 1] = c3; \
    }

#endif
