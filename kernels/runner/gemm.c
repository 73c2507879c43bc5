/* One product by cuBLAS, or by cuBLASLt. */
#include "gemm.h"

#include <stdio.h>

#include "probe.h"

static void *at(device_pointer p)
{
    return (void *)(uintptr_t)p;
}

int by_lt(const struct type *type)
{
    return type->in_type == REAL_E4M3;
}

/* Queues it; what cuBLAS answers. */
static int once(struct gemm *p)
{
    const struct type *t = p->type;
    float one = 1, zero = 0;
    double one64 = 1, zero64 = 0;
    int wide = p->compute == COMPUTE_F64;
    void *alpha = wide ? (void *)&one64 : &one, *beta = wide ? (void *)&zero64 : &zero;
    if (p->what)
        return blas.lt_multiply(p->handle, p->what, alpha, at(p->a), p->a_layout, at(p->b),
                                p->b_layout, beta, at(p->c), p->c_layout, at(p->c), p->c_layout,
                                &p->chosen.algorithm, at(p->workspace), WORKSPACE,
                                p->bench->stream);
    return blas.gemm(p->handle, TRANSPOSE, NO_TRANSPOSE, p->n, p->n, p->n, alpha, at(p->a),
                     t->in_type, p->n, at(p->b), t->in_type, p->n, beta, at(p->c), t->out_type,
                     p->n, p->compute, ANY_ALGORITHM);
}

int run_gemm(struct work *work)
{
    struct gemm *p = work->state;
    for (unsigned i = 0; i < work->rounds * (unsigned)p->times; i++) {
        if (answered("multiply", once(p)))
            return 1;
    }
    return 0;
}

/* By cuBLASLt: a description of the product, and its best algorithm; its answer. */
static int describe(struct gemm *p)
{
    void *preference;
    int transpose = TRANSPOSE, found = 0, code;
    size_t most = WORKSPACE;
    uint64_t n = (uint64_t)p->n;
    if ((code = blas.lt_operation(&p->what, COMPUTE_F32, REAL_F32)) ||
        (code = blas.lt_operation_set(p->what, LT_TRANSPOSE_A, &transpose, sizeof transpose)) ||
        (code = blas.lt_layout(&p->a_layout, p->type->in_type, n, n, p->n)) ||
        (code = blas.lt_layout(&p->b_layout, p->type->in_type, n, n, p->n)) ||
        (code = blas.lt_layout(&p->c_layout, p->type->out_type, n, n, p->n)) ||
        (code = blas.lt_preference(&preference)) ||
        (code = blas.lt_preference_set(preference, LT_MOST_WORKSPACE, &most, sizeof most)) ||
        (code = blas.lt_heuristic(p->handle, p->what, p->a_layout, p->b_layout, p->c_layout,
                                  p->c_layout, preference, 1, &p->chosen, &found)))
        return code;
    return found < 1 ? NOT_SUPPORTED : 0;
}

int prepare(struct gemm *p, int n)
{
    p->n = n;
    return by_lt(p->type) ? describe(p) : 0;
}

int refused(struct gemm *p)
{
    int code = prepare(p, SMALLEST);
    if (!code)
        code = once(p);
    if (code != INVALID_VALUE && code != ARCH_MISMATCH && code != NOT_SUPPORTED)
        return 0;
    char name[32];
    snprintf(name, sizeof name, "cublas.%s", p->type->name);
    event("refused");
    text("name", name);
    whole("code", code);
    close_event();
    return 1;
}
