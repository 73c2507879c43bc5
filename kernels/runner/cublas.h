/* The parts of cuBLAS and cuBLASLt that are used, declared here so that no toolkit is needed. The
 * values are those of 11, 12 and 13. */
#ifndef ENVBUILD_CUBLAS_H
#define ENVBUILD_CUBLAS_H

#include <stddef.h>
#include <stdint.h>

enum { NO_TRANSPOSE = 0, TRANSPOSE = 1 };
enum { REAL_F32 = 0, REAL_F64 = 1, REAL_F16 = 2, REAL_BF16 = 14, REAL_E4M3 = 28 };
enum { COMPUTE_F32 = 68, PEDANTIC_F32 = 69, COMPUTE_F64 = 70, FAST_TF32 = 77 };
enum { ANY_ALGORITHM = -1 };
enum { INVALID_VALUE = 7, ARCH_MISMATCH = 8, NOT_SUPPORTED = 15 }; /* of cublasStatus_t */
enum { LT_TRANSPOSE_A = 3, LT_TRANSPOSE_B = 4, LT_MOST_WORKSPACE = 1 };

struct lt_algorithm {
    uint64_t data[8];
};
struct lt_heuristic {
    struct lt_algorithm algorithm;
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

/* Every function answers 0 for success. */
#define BLAS_FUNCTIONS(X) \
    X(create, cublasCreate_v2, (void **handle)) \
    X(destroy, cublasDestroy_v2, (void *handle)) \
    X(set_stream, cublasSetStream_v2, (void *handle, void *stream)) \
    X(version, cublasGetVersion_v2, (void *handle, int *version)) \
    X(gemm, cublasGemmEx, \
      (void *handle, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, \
       int a_type, int lda, const void *b, int b_type, int ldb, const void *beta, void *c, \
       int c_type, int ldc, int compute, int algorithm))

#define LT_FUNCTIONS(X) \
    X(lt_create, cublasLtCreate, (void **handle)) \
    X(lt_destroy, cublasLtDestroy, (void *handle)) \
    X(lt_operation, cublasLtMatmulDescCreate, (void **what, int compute, int scale)) \
    X(lt_operation_set, cublasLtMatmulDescSetAttribute, \
      (void *what, int attribute, const void *value, size_t size)) \
    X(lt_layout, cublasLtMatrixLayoutCreate, \
      (void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld)) \
    X(lt_preference, cublasLtMatmulPreferenceCreate, (void **preference)) \
    X(lt_preference_set, cublasLtMatmulPreferenceSetAttribute, \
      (void *preference, int attribute, const void *value, size_t size)) \
    X(lt_heuristic, cublasLtMatmulAlgoGetHeuristic, \
      (void *handle, void *what, void *a, void *b, void *c, void *d, void *preference, int wanted, \
       struct lt_heuristic *results, int *found)) \
    X(lt_multiply, cublasLtMatmul, \
      (void *handle, void *what, const void *alpha, const void *a, void *a_layout, const void *b, \
       void *b_layout, const void *beta, const void *c, void *c_layout, void *d, void *d_layout, \
       const struct lt_algorithm *algorithm, void *workspace, size_t workspace_bytes, void *stream))

#define FIELD(field, symbol, parameters) int (*field) parameters;
struct blas {
    BLAS_FUNCTIONS(FIELD)
    LT_FUNCTIONS(FIELD)
    int has_lt; /* all of cuBLASLt is there */
};
#undef FIELD

extern struct blas blas;

/* Opens what the loader finds by name, else what lies in `folder`, and says which; nonzero = none. */
int open_blas(const char *folder);
/* As `checked` in session.h, for answers of cuBLAS. */
int answered(const char *name, int code);
#define BLAS(field, arguments) answered(#field, blas.field arguments)

#endif
