/* Multiply-adds and nothing else: eight chains a thread, so that no latency shows.
 *
 * With m = c = 1 a chain counts its own steps, and the sum at the end proves that none was left
 * out: it is 8 * steps + 28 + 8 * (thread % 8), exact below 2^24. The compiler knows neither m
 * nor c. One step is one multiply-add in each chain.
 */
#include "probe.h"

enum { CHAINS = 8, STEPS = 32 };

template <typename T>
static __device__ T chains(unsigned rounds, T m, T c)
{
    T x[CHAINS];
#pragma unroll
    for (int k = 0; k < CHAINS; k++)
        x[k] = (T)(k + (int)(threadIdx.x % CHAINS));
#pragma unroll 1
    for (unsigned r = 0; r < rounds; r++) {
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
#pragma unroll
            for (int k = 0; k < CHAINS; k++)
                x[k] = x[k] * m + c;
        }
    }
    T sum = 0;
#pragma unroll
    for (int k = 0; k < CHAINS; k++)
        sum += x[k];
    return sum;
}

/* A long body, so that what the loop costs is little. In single precision m and c are no constants of
 * the launch to the compiler, which would fetch them anew in every round; in double precision three
 * operands from registers would wait for one another. */
PROBE void NAMED(fma_f32)(float *sums, unsigned rounds, float m, float c)
{
    m += (float)(rounds >> 31);
    c += (float)(rounds >> 31);
    sums[blockIdx.x * blockDim.x + threadIdx.x] = chains<float>(rounds, m, c);
}

PROBE void NAMED(fma_f64)(double *sums, unsigned rounds, double m, double c)
{
    sums[blockIdx.x * blockDim.x + threadIdx.x] = chains<double>(rounds, m, c);
}
