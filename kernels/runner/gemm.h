/* C = A' * B by the image's cuBLAS, in column order, A and B random: gemm.c makes it, freivalds.c says
 * whether it is right. */
#ifndef ENVBUILD_GEMM_H
#define ENVBUILD_GEMM_H

#include "cublas.h"
#include "fast.h"

enum { VECTORS = 3, LARGEST = 8192, SMALLEST = 512, WORKSPACE = 32 << 20 };
enum { VECTOR_BYTES = LARGEST * VECTORS * sizeof(double) };

/* in, out: types of A and B, and of C. An element of A or B has this variance, one of C an error of
 * 2^rounding + sqrt(k) * 2^summing, both standard deviations and the second by that of C. */
struct type {
    const char *name, *in, *out, *out_format;
    int in_type, out_type, compute, in_bytes, out_bytes, rounding, summing;
    double variance;
};

struct gemm {
    struct bench *bench;
    const struct type *type;
    void *module, *handle; /* kernels of freivalds.cu; of cuBLAS, for f8 of cuBLASLt */
    void *what, *a_layout, *b_layout, *c_layout;
    struct lt_heuristic chosen;
    device_pointer a, b, c, x, y, z, workspace;
    int n, compute, times; /* times: how often the product is made for each that counts */
};

/* f8 only comes by cuBLASLt. */
int by_lt(const struct type *type);
/* Makes ready for products of this size; what cuBLAS answers. */
int prepare(struct gemm *p, int n);
/* A measurement's rounds of it: `run` of a struct work whose state is a struct gemm. */
int run_gemm(struct work *work);
/* Does this library do this type on this device at all? The smallest product says so. */
int refused(struct gemm *p);

/* New A and B, and what C * x must be for vectors that are drawn anew. */
int draw(struct gemm *p);
/* The usual error of an element of C, for rows of this length. */
double error_of(const struct type *type, int n);
/* Says how many rows of C * x differ by more than `error` of an element explains. */
int compare(struct gemm *p, const char *name, double error);
/* One element of C moves by eight times what is usual for it. */
int perturb(struct gemm *p);

#endif
