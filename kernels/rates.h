/* Tensor cores at work and nothing else: eight products a warp that do not wait for each other.
 *
 * All operands are 1, so that each step adds the depth of the product to every element of a sum:
 * the total of a thread says how many steps there were. The host passes the operands, so that no
 * compiler knows the result. One step is one instruction (mma.h) in each chain.
 */
#ifndef ENVBUILD_RATES_H
#define ENVBUILD_RATES_H

#include "mma.h"

enum { CHAINS = 8, STEPS = 16, THREADS = 512 };

/* Threads of a block as the host launches it: no compiler may take more registers than they get. */
#define RATED PROBE void __launch_bounds__(THREADS)

#define EACH(variable, count) _Pragma("unroll") for (int variable = 0; variable < count; variable++)

/* one: a register full of ones. */
#define RATE(name, sum, letter, instruction) \
    RATED NAMED(rate_##name)(double *sums, unsigned rounds, unsigned one) \
    { \
        sum c[CHAINS][4]; \
        double all = 0; \
        EACH(i, CHAINS) EACH(j, 4) c[i][j] = 0; \
        SHORT for (unsigned r = 0; r < rounds; r++) \
            EACH(s, STEPS) EACH(i, CHAINS) \
                asm volatile(instruction \
                             : "+" letter(c[i][0]), "+" letter(c[i][1]), "+" letter(c[i][2]), \
                               "+" letter(c[i][3]) \
                             : "r"(one), "r"(one), "r"(one), "r"(one), "r"(one), "r"(one)); \
        EACH(i, CHAINS) EACH(j, 4) all += (double)c[i][j]; \
        sums[blockIdx.x * blockDim.x + threadIdx.x] = all; \
    }

#endif
