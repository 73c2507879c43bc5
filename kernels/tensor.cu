/* C = A * B on the tensor cores, 16 x 8 elements of C a warp; operands as in numerics.cu.
 *
 * A step takes 32 bytes of a row of A and of a column of B. Where they lie in the registers is the
 * same for every type from 8.0 on (PTX ISA, "Matrix Fragments for mma.m16n8k32" and its kin): the
 * instruction is all that differs. 7.5 has the same in halves and quarters, 7.0 only `wmma`.
 */
#include "mma.h"

#if __CUDA_ARCH__ >= 750
MULTIPLY(tensor_f16, float, "f", MMA_F16)
MULTIPLY(tensor_s8, int, "r", MMA_S8)
#endif

#if __CUDA_ARCH__ >= 800
MULTIPLY(tensor_bf16, float, "f", MMA("m16n8k16.row.col.f32.bf16.bf16.f32"))

/* Without this the hardware would cut 13 bits off, at twice the error. */
#define ROUNDED(to, from) "cvt.rna.tf32.f32 " to ", " from ";"
MULTIPLY(tensor_tf32, float, "f",
         "{.reg .b32 r<6>;"
         ROUNDED("r0", "%4") ROUNDED("r1", "%5") ROUNDED("r2", "%6") ROUNDED("r3", "%7")
         ROUNDED("r4", "%8") ROUNDED("r5", "%9")
         ACCUMULATE("m16n8k8.row.col.f32.tf32.tf32.f32", "%0,%1,%2,%3", "r0,r1,r2,r3", "r4,r5")
         "}")

/* A fragment is one double, and a step four of them: a layout of its own. */
PROBE void NAMED(tensor_f64)(const unsigned char *a, const unsigned char *b, double *c, unsigned k,
                             unsigned stride_a, unsigned stride_b, unsigned n)
{
    unsigned group = threadIdx.x / 4, lane = threadIdx.x % 4;
    unsigned column = blockIdx.x * 8;
    SHORT for (unsigned half = 0; half < 16; half += 8) {
        unsigned row = blockIdx.y * 16 + half + group;
        const double *x = (const double *)(a + row * (unsigned long long)stride_a) + lane;
        const double *y =
            (const double *)(b + (column + group) * (unsigned long long)stride_b) + lane;
        double c0 = 0, c1 = 0;
        SHORT for (unsigned i = 0; i < k / 8; i += 4)
            asm volatile(ACCUMULATE("m8n8k4.row.col.f64.f64.f64.f64", "%0,%1", "%2", "%3")
                         : "+d"(c0), "+d"(c1)
                         : "d"(x[i]), "d"(y[i]));
        c[row * n + column + lane * 2] = c0;
        c[row * n + column + lane * 2 + 1] = c1;
    }
}
#endif

#if __CUDA_ARCH__ < 750
/* 16 x 16 elements at once: the warps of even columns do the work of their neighbours. */
#define WMMA(name, element, result, letter, load, multiply, sum, fragment) \
    PROBE void NAMED(name)(const unsigned char *a, const unsigned char *b, result *c, unsigned k, \
                           unsigned stride_a, unsigned stride_b, unsigned n) \
    { \
        if (blockIdx.x % 2) \
            return; \
        const unsigned char *x = a + blockIdx.y * 16 * (unsigned long long)stride_a; \
        const unsigned char *y = b + blockIdx.x * 8 * (unsigned long long)stride_b; \
        unsigned size = sizeof(element); \
        result s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0; \
        SHORT for (unsigned i = 0; i < k; i += 16 * size) \
            asm volatile( \
                "{.reg .b32 a<8>, b<8>;" \
                "wmma.load.a.sync.aligned.row.m16n16k16." load " {" fragment("a") "}, [%8], %10;" \
                "wmma.load.b.sync.aligned.col.m16n16k16." load " {" fragment("b") "}, [%9], %11;" \
                "wmma.mma.sync.aligned.row.col.m16n16k16." multiply " {" SUMS "}, {" \
                fragment("a") "}, {" fragment("b") "}, {" SUMS "};}" \
                : "+" letter(s0), "+" letter(s1), "+" letter(s2), "+" letter(s3), \
                  "+" letter(s4), "+" letter(s5), "+" letter(s6), "+" letter(s7) \
                : "l"(x + i), "l"(y + i), "r"(stride_a / size), "r"(stride_b / size)); \
        asm volatile("wmma.store.d.sync.aligned.row.m16n16k16." sum " [%8], {" SUMS "}, %9;" \
                     : \
                     : letter(s0), letter(s1), letter(s2), letter(s3), letter(s4), letter(s5), \
                       letter(s6), letter(s7), "l"(c + blockIdx.y * 16 * n + blockIdx.x * 8), \
                       "r"(n) \
                     : "memory"); \
    }
#define SUMS "%0,%1,%2,%3,%4,%5,%6,%7"
#define TWO(x) x "0," x "1"
#define EIGHT(x) TWO(x) "," x "2," x "3," x "4," x "5," x "6," x "7"

WMMA(tensor_f16, unsigned short, float, "f", "f16", "f32.f32", "f32", EIGHT)
#if __CUDA_ARCH__ >= 720
WMMA(tensor_s8, unsigned char, int, "r", "s8", "s32.s8.s8.s32", "s32", TWO)
#endif
#endif
