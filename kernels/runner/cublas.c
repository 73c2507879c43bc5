/* The image's own cuBLAS: how fast it multiplies in each type, and whether that is right. */
#include <stdio.h>
#include <stdlib.h>

#include "gemm.h"
#include "probe.h"

enum { MANY_PRODUCTS = 31, LONGEST_MS = 10 };

static const struct type TYPES[] = {
    {"bf16", "bf16", "bf16", "e8m7", REAL_BF16, REAL_BF16, COMPUTE_F32, 2, 2, -9, -21, 1 / 3.},
    {"f16", "f16", "f16", "e5m10", REAL_F16, REAL_F16, COMPUTE_F32, 2, 2, -12, -21, 1 / 3.},
    {"tf32", "f32", "f32", "e8m23", REAL_F32, REAL_F32, FAST_TF32, 4, 4, -11, -21, 1 / 3.},
    {"f32", "f32", "f32", "e8m23", REAL_F32, REAL_F32, PEDANTIC_F32, 4, 4, 0, -23, 1 / 3.},
    {"f64", "f64", "f64", "e11m52", REAL_F64, REAL_F64, COMPUTE_F64, 8, 8, 0, -52, 1 / 3.},
    {"f8", "f8", "bf16", "e8m7", REAL_E4M3, REAL_BF16, COMPUTE_F32, 1, 2, -9, -16, 24 / 64.},
};

/* Twice as large for as long as time and memory allow. */
static int choose_size(struct gemm *p, int most)
{
    struct sample s;
    for (int n = SMALLEST;; n *= 2) {
        struct work work = {"", run_gemm, 1, 1, p};
        if (answered("prepare", prepare(p, n)) || sample(p->bench, &work, &s) ||
            sample(p->bench, &work, &s))
            return 1;
        if (n * 2 > most || 8 * s.us > LONGEST_MS * 1e3)
            return 0;
    }
}

static int figures(struct gemm *p, const struct work *made, const char *which)
{
    char name[64];
    struct work work = *made;
    snprintf(name, sizeof name, "%s.%s", made->name, which);
    work.name = name;
    return measure(p->bench, &work, FEW_SAMPLES, (unsigned)p->n);
}

static int measured(struct gemm *p)
{
    const struct type *t = p->type;
    char name[32], other[64];
    double operations = 2.0 * p->n * p->n * p->n;
    snprintf(name, sizeof name, "cublas.%s", t->name);
    struct work work = {name, run_gemm, 1, operations, p};
    if (CHECK(fill, (p->c, ~0u, (size_t)p->n * (size_t)p->n * (size_t)t->out_bytes / 4)) ||
        draw(p) || size(p->bench, &work, 5, 1000) || warm(p->bench, &work) ||
        measure(p->bench, &work, MANY_PRODUCTS, (unsigned)p->n) ||
        compare(p, name, error_of(t, p->n)))
        return 1;
    if (p->compute == FAST_TF32) {
        /* Held to what f32 gives it must fail. */
        snprintf(other, sizeof other, "%s.narrow", name);
        if (compare(p, other, error_of(t + 1, p->n)))
            return 1;
    }
    snprintf(other, sizeof other, "%s.perturbed", name);
    if (perturb(p) || compare(p, other, error_of(t, p->n)))
        return 1;
    p->times = 2;
    int bad = figures(p, &work, "twice");
    p->times = 1;
    if (!bad && t->in_bytes == 2) {
        /* Without tensor cores. */
        p->compute = PEDANTIC_F32;
        work.rounds = 1;
        bad = figures(p, &work, "pedantic");
    }
    return bad;
}

static int one_type(struct gemm *p)
{
    const struct type *t = p->type;
    size_t available = 0, total = 0, rest = 3 * VECTOR_BYTES + WORKSPACE;
    int most = LARGEST;
    if (CHECK(memory_info, (&available, &total)))
        return 1;
    /* A guest takes a quarter at most. */
    while (most >= SMALLEST &&
           ((size_t)(2 * t->in_bytes + t->out_bytes) * (size_t)most * (size_t)most + rest) * 4 >
               available)
        most /= 2;
    if (most < SMALLEST) {
        event("no-room");
        text("name", t->name);
        close_event();
        return 0;
    }
    size_t elements = (size_t)most * (size_t)most;
    p->compute = t->compute;
    p->times = 1;
    p->what = NULL;
    int bad = CHECK(allocate, (&p->a, elements * (size_t)t->in_bytes)) ||
              CHECK(allocate, (&p->b, elements * (size_t)t->in_bytes)) ||
              CHECK(allocate, (&p->c, elements * (size_t)t->out_bytes)) ||
              (!refused(p) && (choose_size(p, most) || measured(p)));
    device_pointer *all[] = {&p->a, &p->b, &p->c};
    for (int i = 0; i < 3; i++) {
        if (*all[i] && CHECK(release, (*all[i])))
            bad = 1;
        *all[i] = 0;
    }
    return bad;
}

int cublas(struct bench *b, const struct codes *codes)
{
    struct gemm p = {.bench = b, .times = 1};
    void *blas_handle = NULL, *lt = NULL;
    int version = 0, cc = b->device->major * 10 + b->device->minor;
    if (open_blas(codes->library))
        return 0;
    srand((unsigned)(seconds() * 1e6));
    if (!(p.module = prebuilt(codes, "freivalds")) || BLAS(create, (&blas_handle)) ||
        BLAS(set_stream, (blas_handle, b->stream)) || BLAS(version, (blas_handle, &version)) ||
        CHECK(allocate, (&p.x, VECTOR_BYTES)) || CHECK(allocate, (&p.y, VECTOR_BYTES)) ||
        CHECK(allocate, (&p.z, VECTOR_BYTES)) || CHECK(allocate, (&p.workspace, WORKSPACE)))
        return 1;
    event("version");
    whole("version", version);
    close_event();
    int bad = 0;
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES && !bad; i++) {
        p.type = &TYPES[i];
        if (by_lt(p.type) && (cc < 89 || !blas.has_lt || (!lt && BLAS(lt_create, (&lt)))))
            continue;
        p.handle = by_lt(p.type) ? lt : blas_handle;
        bad = one_type(&p);
    }
    if (lt)
        BLAS(lt_destroy, (lt));
    BLAS(destroy, (blas_handle));
    return bad || CHECK(release, (p.x)) || CHECK(release, (p.y)) || CHECK(release, (p.z)) ||
           CHECK(release, (p.workspace));
}
