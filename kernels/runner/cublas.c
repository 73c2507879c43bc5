/* The image's own cuBLAS: how fast it multiplies, and whether that is right.
 *
 * C = A' * B in column order, A and B random. C is right where, for vectors x of +1 and -1, C * x is
 * A' * (B * x), both made in f64 by kernels of ours (freivalds.cu). What the rounding of C may
 * explain is random, and grows with the root of the length of a row.
 */
#define _GNU_SOURCE
#include "cublas.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fast.h"
#include "numbers.h"
#include "probe.h"

enum { VECTORS = 3, LARGEST = 8192, SMALLEST = 512, THREADS = 128, WORKSPACE = 32 << 20 };
enum { VECTOR_BYTES = LARGEST * VECTORS * sizeof(double) };
enum { SIGMAS = 8, MANY_PRODUCTS = 31, LONGEST_MS = 10 };

/* in, out: types of A and B, and of C. An element of A or B has this variance, one of C an error of
 * 2^rounding + sqrt(k) * 2^summing, both standard deviations and the second by that of C. */
static const struct type {
    const char *name, *in, *out, *out_format;
    int in_type, out_type, compute, in_bytes, out_bytes, rounding, summing;
    double variance;
} TYPES[] = {
    {"bf16", "bf16", "bf16", "e8m7", REAL_BF16, REAL_BF16, COMPUTE_F32, 2, 2, -9, -21, 1 / 3.},
    {"f16", "f16", "f16", "e5m10", REAL_F16, REAL_F16, COMPUTE_F32, 2, 2, -12, -21, 1 / 3.},
    {"tf32", "f32", "f32", "e8m23", REAL_F32, REAL_F32, FAST_TF32, 4, 4, -11, -21, 1 / 3.},
    {"f32", "f32", "f32", "e8m23", REAL_F32, REAL_F32, PEDANTIC_F32, 4, 4, 0, -23, 1 / 3.},
    {"f64", "f64", "f64", "e11m52", REAL_F64, REAL_F64, COMPUTE_F64, 8, 8, 0, -52, 1 / 3.},
    {"f8", "f8", "bf16", "e8m7", REAL_E4M3, REAL_BF16, COMPUTE_F32, 1, 2, -9, -16, 24 / 64.},
};

static struct blas blas;

static int by_lt(const struct type *type)
{
    return type->in_type == REAL_E4M3;
}

struct gemm {
    struct bench *bench;
    const struct type *type;
    void *module, *handle;  /* kernels of freivalds.cu; of cuBLAS, for f8 of cuBLASLt */
    void *what, *a_layout, *b_layout, *c_layout;
    struct lt_heuristic chosen;
    device_pointer a, b, c, x, y, z, workspace;
    int n, compute, times; /* times: how often the product is made for each that counts */
};

static void *at(device_pointer p)
{
    return (void *)(uintptr_t)p;
}

/* As `checked` in session.h, for answers of cuBLAS. */
static int answered(const char *name, int code)
{
    if (!code)
        return 0;
    event("failed");
    text("call", name);
    text("says", "an answer of cuBLAS");
    whole("code", code);
    close_event();
    return code;
}
#define BLAS(field, arguments) answered(#field, blas.field arguments)

/* ---- the library --------------------------------------------------------------------------- */

/* Where the loader finds it by name, else in the folder that a package has it in. */
static void *open_library(const char *folder, int *major)
{
    char name[PATH_MAX];
    for (int i = 0; i < 2; i++) {
        for (*major = 13; *major >= 11; (*major)--) {
            snprintf(name, sizeof name, "%s%slibcublas.so.%d", i ? folder : "", i ? "/" : "", *major);
            void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
            if (library || (i && !*folder))
                return library;
        }
    }
    return NULL;
}

/* Says which library answers; nonzero = the image has none. */
static int open_blas(const char *folder)
{
    int major = 0, lt_whole = 1;
    char path[PATH_MAX] = "", name[PATH_MAX + 32];
    const char *missing = NULL;
    void *library = open_library(folder, &major), *lt = NULL;
    if (library) {
        loaded_path(library, path, sizeof path);
        /* It lies beside the other. */
        char *folder_end = strrchr(path, '/');
        snprintf(name, sizeof name, "%.*s/libcublasLt.so.%d",
                 (int)(folder_end ? folder_end - path : 0), path, major);
        lt = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
#define LOOK_UP(field, symbol, parameters) \
    if (!(blas.field = (int (*) parameters)dlsym(library, #symbol))) \
        missing = #symbol;
        BLAS_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
#define LOOK_UP(field, symbol, parameters) \
    if (!lt || !(blas.field = (int (*) parameters)dlsym(lt, #symbol))) \
        lt_whole = 0;
        LT_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    }
    event("library");
    text("path", path);
    text("missing", missing ? missing : "");
    close_event();
    blas.has_lt = lt_whole;
    return !library || missing;
}

/* ---- one product --------------------------------------------------------------------------- */

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

static int run(struct work *work)
{
    struct gemm *p = work->state;
    for (unsigned i = 0; i < work->rounds * (unsigned)p->times; i++) {
        if (answered("multiply", once(p)))
            return 1;
    }
    return 0;
}

/* f8 only comes by cuBLASLt: a description of the product, and its best algorithm; its answer. */
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

/* Makes ready for products of this size; what cuBLAS answers. */
static int prepare(struct gemm *p, int n)
{
    p->n = n;
    return by_lt(p->type) ? describe(p) : 0;
}

/* Does this library do this type on this device at all? The smallest product says so. */
static int refused(struct gemm *p)
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

/* ---- is it right? -------------------------------------------------------------------------- */

static void *kernel(struct gemm *p, const char *verb, const char *type)
{
    char name[64];
    snprintf(name, sizeof name, "envbuild_%s_%s", verb, type);
    return kernel_of(p->module, name);
}

static int fill_random(struct gemm *p, device_pointer to, unsigned seed)
{
    unsigned long long n = (unsigned long long)p->n * (unsigned)p->n;
    void *arguments[] = {&to, &n, &seed}, *random = kernel(p, "random", p->type->in);
    return !random || launch(random, 8 * (unsigned)p->bench->device->sms, 256, NULL, arguments);
}

/* y = M * x; M is stored by columns, or by rows. */
static int apply(struct gemm *p, const char *type, device_pointer m, int by_rows,
                 device_pointer x, device_pointer y)
{
    unsigned n = (unsigned)p->n;
    unsigned long long row = by_rows ? n : 1, column = by_rows ? 1 : n;
    void *arguments[] = {&m, &row, &column, &n, &n, &x, &y}, *f = kernel(p, "multiply", type);
    return !f || launch(f, (n + THREADS - 1) / THREADS, THREADS, NULL, arguments);
}

/* Rows of C * x that differ from A' * (B * x) by more than `error` of an element explains. */
static int compare(struct gemm *p, const char *name, double error)
{
    size_t n = (size_t)p->n * VECTORS, wrong = 0;
    double *found = malloc(2 * n * sizeof *found), *want = found + n, sum = 0;
    double element = sqrt(p->n) * p->type->variance, row = sqrt(p->n) * element;
    if (!found || apply(p, p->type->out, p->c, 0, p->x, p->y) || CHECK(synchronize, ()) ||
        CHECK(to_host, (found, p->y, n * sizeof *found)) ||
        CHECK(to_host, (want, p->z, n * sizeof *want))) {
        free(found);
        return 1;
    }
    for (size_t i = 0; i < n; i++) {
        double off = fabs(found[i] - want[i]);
        wrong += !(off <= SIGMAS * error * row);
        sum += off * off;
    }
    free(found);
    event("data");
    text("name", name);
    whole("compared", (long long)n);
    whole("wrong", (long long)wrong);
    double share = sqrt(sum / (double)n) / row;
    printf(",\"residual\":%.3e", isfinite(share) ? share : 1e300);
    close_event();
    return 0;
}

static double error_of(const struct type *t, int n)
{
    return (t->rounding ? ldexp(1, t->rounding) : 0) + sqrt(n) * ldexp(1, t->summing);
}

/* What C * x must be, from vectors that a run draws anew. */
static int expect(struct gemm *p)
{
    double *x = malloc((size_t)p->n * VECTORS * sizeof *x);
    for (int i = 0; x && i < p->n * VECTORS; i++)
        x[i] = rand() / (RAND_MAX / 2 + 1) ? 1 : -1;
    int bad = !x || CHECK(to_device, (p->x, x, (size_t)p->n * VECTORS * sizeof *x)) ||
              apply(p, p->type->in, p->b, 0, p->x, p->y) ||
              apply(p, p->type->in, p->a, 1, p->y, p->z);
    free(x);
    return bad;
}

/* One element of C moves by eight times what is usual for it. */
static int perturb(struct gemm *p)
{
    struct format format;
    uint64_t bits = 0;
    size_t size = (size_t)p->type->out_bytes, place = (size_t)p->n * (size_t)(p->n / 2) + 5;
    if (format_of(p->type->out_format, &format) ||
        CHECK(to_host, (&bits, p->c + place * size, size)))
        return 1;
    double value = decode(&format, bits) + 8 * sqrt(p->n) * p->type->variance;
    bits = encode(&format, &value);
    return CHECK(to_device, (p->c + place * size, &bits, size));
}

/* ---- a type -------------------------------------------------------------------------------- */

/* Twice as large for as long as time and memory allow. */
static int choose_size(struct gemm *p, int most)
{
    struct sample s;
    for (int n = SMALLEST;; n *= 2) {
        struct work work = {"", run, 1, 1, p};
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
    struct work work = {name, run, 1, operations, p};
    if (CHECK(fill, (p->c, ~0u, (size_t)p->n * (size_t)p->n * (size_t)t->out_bytes / 4)) ||
        fill_random(p, p->a, 1) || fill_random(p, p->b, 3) || expect(p) ||
        size(p->bench, &work, 5, 1000) || warm(p->bench, &work) ||
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
