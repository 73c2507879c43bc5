/* C = A * B in the arithmetic of the plain cores, one element of C a thread.
 *
 * A is row by row, B column by column, both by strides in bytes, a row k bytes long; C is row by
 * row, n wide. Each block of 32 threads makes 16 x 8 elements.
 */
#include "probe.h"

#define ELEMENT(type, p, row, stride, i) \
    (((const type *)((p) + (row) * (unsigned long long)(stride)))[i])
#define PLAIN(name, type, result, step) \
    PROBE void NAMED(name)(const unsigned char *a, const unsigned char *b, result *c, unsigned k, \
                           unsigned stride_a, unsigned stride_b, unsigned n) \
    { \
        unsigned row = blockIdx.y * 16 + threadIdx.x / 2; \
        unsigned first = blockIdx.x * 8 + threadIdx.x % 2 * 4; \
        SHORT for (unsigned column = first; column < first + 4; column++) { \
            result sum = 0; \
            SHORT for (unsigned i = 0; i < k / sizeof(type); i++) \
                sum = step(ELEMENT(type, a, row, stride_a, i), \
                           ELEMENT(type, b, column, stride_b, i), sum); \
            c[row * n + column] = sum; \
        } \
    }

/* In assembly, so that no compiler flag turns a multiply-add into two roundings. */
static __device__ double step_f64(double x, double y, double sum)
{
    asm("fma.rn.f64 %0, %1, %2, %0;" : "+d"(sum) : "d"(x), "d"(y));
    return sum;
}

static __device__ float step_f32(float x, float y, float sum)
{
    asm("fma.rn.f32 %0, %1, %2, %0;" : "+f"(sum) : "f"(x), "f"(y));
    return sum;
}

PLAIN(plain_f64, double, double, step_f64)
PLAIN(plain_f32, float, float, step_f32)

#if __CUDA_ARCH__ >= 530
/* The sum is rounded to half precision at each step. */
static __device__ unsigned short step_f16(unsigned short x, unsigned short y, unsigned short sum)
{
    asm("fma.rn.f16 %0, %1, %2, %0;" : "+h"(sum) : "h"(x), "h"(y));
    return sum;
}

PLAIN(plain_f16, unsigned short, unsigned short, step_f16)
#endif

#if __CUDA_ARCH__ >= 610
static __device__ int step_s8(int x, int y, int sum)
{
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(x), "r"(y));
    return sum;
}

/* Four elements a word. */
PLAIN(plain_s8, int, int, step_s8)
#endif
