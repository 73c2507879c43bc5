/* A libcublas.so.13 and libcublasLt.so.13 in one, made for tests: products on the CPU.
 *
 * Device time passes as on the device of fake_fast.c. A product is only made where C is full of
 * ones, as the probe leaves it before it compares. ENVBUILD_FAKE:
 *   slow-blas  at half speed         blas-off   one element of each product is wrong
 *   blas-f32   tf32 is done in f32   blas-once  every other product takes no time
 *   refuse=N   f8 answers N
 */
#pragma GCC optimize("O3,fast-math")
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../kernels/runner/cublas.h"
#include "../../kernels/runner/numbers.h"

#define API __attribute__((visibility("default"))) int

static int (*is)(const char *), (*code)(const char *);
static void (*pass)(double ns);
static int again;

static const char *format(int type)
{
    return type == REAL_F64    ? "e11m52"
           : type == REAL_F16  ? "e5m10"
           : type == REAL_BF16 ? "e8m7"
           : type == REAL_E4M3 ? "e4m3"
                               : "e8m23";
}

static double *numbers(const void *from, int type, size_t n)
{
    struct format f;
    const unsigned char *at = from;
    double *to = malloc(n * sizeof *to);
    format_of(format(type), &f);
    for (size_t i = 0; to && i < n; i++, at += f.size) {
        uint64_t bits = 0;
        memcpy(&bits, at, (size_t)f.size);
        to[i] = decode(&f, bits);
    }
    return to;
}

static void round_tf32(double *x, size_t n)
{
    struct format f;
    format_of("e8m10", &f);
    for (size_t i = 0; i < n; i++)
        encode(&f, &x[i]);
}

/* C = A' * B, by columns; the rounding of C is all that there is. */
static void make(const void *a, const void *b, int in, void *c, int out, int n, int tf32)
{
    size_t all = (size_t)n * (size_t)n;
    double *x = numbers(a, in, all), *y = numbers(b, in, all);
    struct format f;
    unsigned char *to = c;
    format_of(format(out), &f);
    if (tf32) {
        round_tf32(x, all);
        round_tf32(y, all);
    }
    for (size_t column = 0; column < (size_t)n; column++) {
        for (size_t row = 0; row < (size_t)n; row++, to += f.size) {
            const double *p = x + row * (size_t)n, *q = y + column * (size_t)n;
            double sum = 0;
            for (size_t i = 0; i < (size_t)n; i++)
                sum += p[i] * q[i];
            uint64_t bits = encode(&f, &sum);
            memcpy(to, &bits, (size_t)f.size);
        }
    }
    if (is("blas-off"))
        ((unsigned char *)c)[(size_t)f.size * 5 * (size_t)n + (size_t)f.size - 1] ^= 0x40;
    free(x);
    free(y);
}

static double rate(int in, int compute)
{
    double most = in == REAL_F64     ? 256
                  : in == REAL_E4M3  ? 8192
                  : compute == PEDANTIC_F32 ? 256
                  : in == REAL_F32   ? 2048
                                     : 4096;
    return most * (is("slow-blas") ? 0.45 : 0.9);
}

static int gemm(const void *a, const void *b, int in, void *c, int out, int n, int compute)
{
    static const uint32_t full = ~0u;
    if (!memcmp(c, &full, sizeof full))
        make(a, b, in, c, out, n, compute == FAST_TF32 && !is("blas-f32"));
    if (is("blas-once") && again++ % 2)
        return 0;
    pass(2.0 * n * n * n / (rate(in, compute) * 4));
    return 0;
}

/* The made driver that is loaded already; each of the two libraries asks for it. */
static int ready(void)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!cuda)
        return 1;
    is = (int (*)(const char *))dlsym(cuda, "fake_is");
    code = (int (*)(const char *))dlsym(cuda, "fake_code");
    pass = (void (*)(double))dlsym(cuda, "fake_pass");
    return 0;
}

API cublasCreate_v2(void **handle) { *handle = &again; return ready(); }
API cublasDestroy_v2(void *handle) { (void)handle; return 0; }
API cublasSetStream_v2(void *handle, void *stream) { (void)handle, (void)stream; return 0; }
API cublasGetVersion_v2(void *handle, int *version) { (void)handle; *version = 130100; return 0; }
API cublasGemmEx(void *handle, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                 int a_type, int lda, const void *b, int b_type, int ldb, const void *beta, void *c,
                 int c_type, int ldc, int compute, int algorithm)
{
    (void)handle, (void)alpha, (void)lda, (void)ldb, (void)beta, (void)ldc, (void)algorithm;
    if (ta != TRANSPOSE || tb != NO_TRANSPOSE || m != n || n != k || a_type != b_type)
        return INVALID_VALUE;
    return gemm(a, b, a_type, c, c_type, n, compute);
}

/* Descriptions: what was said last. */
static struct {
    int type, n;
} layouts[3];
static int nlayouts;

API cublasLtCreate(void **handle) { *handle = &layouts; return ready(); }
API cublasLtDestroy(void *handle) { (void)handle; return 0; }
API cublasLtMatmulDescCreate(void **what, int compute, int scale)
{
    (void)compute, (void)scale;
    nlayouts = 0;
    *what = &nlayouts;
    return 0;
}
API cublasLtMatmulDescSetAttribute(void *what, int attribute, const void *value, size_t size)
{
    (void)what;
    return attribute == LT_TRANSPOSE_A && size == 4 && *(const int *)value == TRANSPOSE ? 0
                                                                                      : INVALID_VALUE;
}
API cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld)
{
    (void)columns, (void)ld;
    layouts[nlayouts].type = type;
    layouts[nlayouts].n = (int)rows;
    *layout = &layouts[nlayouts++ % 3];
    return 0;
}
API cublasLtMatmulPreferenceCreate(void **preference) { *preference = &nlayouts; return 0; }
API cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value,
                                         size_t size)
{
    (void)preference, (void)value;
    return attribute == LT_MOST_WORKSPACE && size == sizeof(size_t) ? 0 : INVALID_VALUE;
}
API cublasLtMatmulAlgoGetHeuristic(void *handle, void *what, void *a, void *b, void *c, void *d,
                                   void *preference, int wanted, struct lt_heuristic *results,
                                   int *found)
{
    (void)handle, (void)what, (void)a, (void)b, (void)c, (void)d, (void)preference, (void)wanted;
    (void)results;
    *found = 1;
    return code("refuse");
}
API cublasLtMatmul(void *handle, void *what, const void *alpha, const void *a, void *a_layout,
                   const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
                   void *d, void *d_layout, const struct lt_algorithm *algorithm, void *workspace,
                   size_t workspace_bytes, void *stream)
{
    (void)handle, (void)what, (void)alpha, (void)a_layout, (void)b_layout, (void)beta, (void)c;
    (void)c_layout, (void)d_layout, (void)algorithm, (void)workspace, (void)workspace_bytes;
    (void)stream;
    return gemm(a, b, layouts[0].type, d, layouts[2].type, layouts[0].n, COMPUTE_F32);
}
