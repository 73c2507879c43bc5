/* Multiply-adds and nothing else: eight chains a thread, so that no latency shows.
 *
 * With m = c = 1 a chain counts its own steps, and the sum at the end proves that none was left
 * out: it is 8 * steps + 28 + 8 * (thread % 8), exact below 2^24. The compiler knows neither m
 * nor c. One step is one multiply-add in each chain.
 */
#include "probe.h"

enum { CHAINS = 8 };

template <typename T, int STEPS>
static __device__ T chains(unsigned rounds, T m, T c)
{
    /* Not a constant of the launch to the compiler: one would be fetched anew in every round. */
    m += (T)(rounds >> 31);
    c += (T)(rounds >> 31);
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

/* Single precision is bound by the issue of instructions: a long body, so that the loop is small. */
PROBE void NAMED(fma_f32)(float *sums, unsigned rounds, float m, float c)
{
    sums[blockIdx.x * blockDim.x + threadIdx.x] = chains<float, 32>(rounds, m, c);
}

PROBE void NAMED(fma_f64)(double *sums, unsigned rounds, double m, double c)
{
    sums[blockIdx.x * blockDim.x + threadIdx.x] = chains<double, 8>(rounds, m, c);
}
