/* The rate of the tensor cores (rates.h), one kernel a type. */
#include "rates.h"

#if __CUDA_ARCH__ >= 750
RATE(f16, float, "f", MMA_F16)
RATE(s8, int, "r", MMA_S8)
#else
/* 16 x 16 elements at once: half as many chains, so that a step is as much work. */
RATED NAMED(rate_f16)(double *sums, unsigned rounds, unsigned one)
{
    float c[CHAINS / 2][8];
    double all = 0;
    EACH(i, CHAINS / 2) EACH(j, 8) c[i][j] = 0;
    SHORT for (unsigned r = 0; r < rounds; r++)
        EACH(s, STEPS) EACH(i, CHAINS / 2)
            asm volatile("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 "
                         "{%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%8,%8,%8,%8,%8,%8,%8}, "
                         "{%8,%8,%8,%8,%8,%8,%8,%8}, {%0,%1,%2,%3,%4,%5,%6,%7};"
                         : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3]),
                           "+f"(c[i][4]), "+f"(c[i][5]), "+f"(c[i][6]), "+f"(c[i][7])
                         : "r"(one));
    EACH(i, CHAINS / 2) EACH(j, 8) all += (double)c[i][j];
    sums[blockIdx.x * blockDim.x + threadIdx.x] = all;
}
#endif

#if __CUDA_ARCH__ >= 800
RATE(bf16, float, "f", MMA("m16n8k16.row.col.f32.bf16.bf16.f32"))
RATE(tf32, float, "f", MMA("m16n8k8.row.col.f32.tf32.tf32.f32"))
#endif

/* Others take this instruction, too, and make hundreds of it. */
#if __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900
/* 16 x 8 elements and 16 deep, by one instruction or by eight. */
#if __CUDA_ARCH__ == 900
#define MMA_F64 \
    ACCUMULATE("m16n8k16.row.col.f64.f64.f64.f64", "%0,%1,%2,%3", "%4,%4,%4,%4,%4,%4,%4,%4", \
               "%4,%4,%4,%4")
#else
#define QUARTERS(c) FOUR(ACCUMULATE("m8n8k4.row.col.f64.f64.f64.f64", c, "%4", "%4"))
#define FOUR(x) x x x x
#define MMA_F64 QUARTERS("%0,%1") QUARTERS("%2,%3")
#endif
RATED NAMED(rate_f64)(double *sums, unsigned rounds, double one)
{
    double c[CHAINS][4], all = 0;
    EACH(i, CHAINS) EACH(j, 4) c[i][j] = 0;
    SHORT for (unsigned r = 0; r < rounds; r++)
        EACH(s, STEPS) EACH(i, CHAINS)
            asm volatile(MMA_F64
                         : "+d"(c[i][0]), "+d"(c[i][1]), "+d"(c[i][2]), "+d"(c[i][3])
                         : "d"(one));
    EACH(i, CHAINS) EACH(j, 4) all += c[i][j];
    sums[blockIdx.x * blockDim.x + threadIdx.x] = all;
}
#endif
