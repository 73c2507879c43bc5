/* Tensor cores that count, random matrices and their products with vectors. Made for tests.
 *
 * The device is that of fake_fast.c: 4 SMs, 1000 MHz, cc 9.0. ENVBUILD_FAKE:
 *   slow-tensor  at half speed      lazy-tensor  steps are left out
 *   deaf-tensor  half the SMs do all the work
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../kernels/runner/numbers.h"
#include "fake_fast.h"
#include "fake_products.h"

enum { SMS = 4, CHAINS = 8, STEPS = 16, ELEMENTS = 128, WARP = 32, VECTORS = 3 };

/* What a step adds, operations an SM and clock, the share of them that is reached. */
static const struct rate {
    const char *name;
    int depth;
    double rate, share;
} RATES[] = {
    {"rate_f16", 16, 4096, 0.66}, {"rate_bf16", 16, 4096, 0.66}, {"rate_tf32", 8, 2048, 0.66},
    {"rate_s8", 32, 8192, 0.66},  {"rate_f64", 16, 256, 0.95},   {"rate_f8", 32, 8192, 0.92},
};
static const struct matrix {
    const char *name, *format;
} MATRICES[] = {
    {"f64", "e11m52"}, {"f32", "e8m23"}, {"bf16", "e8m7"}, {"f16", "e5m10"}, {"f8", "e4m3"},
};
enum { NRATES = 6, NMATRICES = 5 };

static struct function {
    const struct rate *rate;
    const struct matrix *random, *multiply;
} functions[NRATES + 2 * NMATRICES];

void *products_function(const char *name)
{
    static const char PREFIX[] = "envbuild_";
    char known[32];
    if (strncmp(name, PREFIX, sizeof PREFIX - 1))
        return NULL;
    name += sizeof PREFIX - 1;
    for (int i = 0; i < NRATES; i++) {
        functions[i].rate = &RATES[i];
        if (!strcmp(name, RATES[i].name))
            return &functions[i];
    }
    for (int i = 0; i < NMATRICES; i++) {
        struct function *random = &functions[NRATES + 2 * i], *multiply = random + 1;
        random->random = multiply->multiply = &MATRICES[i];
        snprintf(known, sizeof known, "random_%s", MATRICES[i].name);
        if (!strcmp(name, known))
            return random;
        snprintf(known, sizeof known, "multiply_%s", MATRICES[i].name);
        if (!strcmp(name, known))
            return multiply;
    }
    return NULL;
}

static void count(const struct rate *r, unsigned blocks, unsigned threads, void **a)
{
    double *totals = *(double **)a[0], steps = *(unsigned *)a[1] * (double)STEPS;
    double want = steps * r->depth * CHAINS * ELEMENTS / WARP;
    double share = r->share * (fake_is("slow-tensor") ? 0.5 : 1.0);
    double operations = 2.0 * ELEMENTS * r->depth * CHAINS * steps * threads / WARP;
    double turns = fake_is("deaf-tensor") ? blocks / (double)SMS : (blocks + SMS - 1) / SMS;
    for (unsigned i = 0; i < blocks * threads && !fake_is("lazy-tensor"); i++)
        totals[i] = want;
    fake_pass(turns * operations / (r->rate * share));
}

static void fill(const struct matrix *m, void **a)
{
    unsigned char *to = *(void **)a[0];
    uint64_t n = *(uint64_t *)a[1], state = *(unsigned *)a[2] * 7919ull + 1;
    struct format f;
    format_of(m->format, &f);
    for (uint64_t i = 0; i < n; i++, to += f.size) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        double value = ldexp((double)(int32_t)(state >> 32), -31);
        if (f.size == 1)
            value = (double)((int)(state >> 33 & 0x7fffffff) % 17 - 8) / 8;
        uint64_t bits = encode(&f, &value);
        memcpy(to, &bits, (size_t)f.size);
    }
}

static void apply(const struct matrix *m, void **a)
{
    const unsigned char *from = *(void **)a[0];
    uint64_t row = *(uint64_t *)a[1], column = *(uint64_t *)a[2];
    unsigned rows = *(unsigned *)a[3], columns = *(unsigned *)a[4];
    const double *x = *(double **)a[5];
    double *y = *(double **)a[6];
    struct format f;
    format_of(m->format, &f);
    memset(y, 0, (size_t)rows * VECTORS * sizeof *y);
    for (unsigned j = 0; j < columns; j++) {
        for (unsigned i = 0; i < rows; i++) {
            uint64_t bits = 0;
            memcpy(&bits, from + (i * row + j * column) * (size_t)f.size, (size_t)f.size);
            double value = decode(&f, bits);
            for (int v = 0; v < VECTORS; v++)
                y[i * VECTORS + v] += value * x[j * VECTORS + v];
        }
    }
}

int products_launch(void *function, unsigned blocks, unsigned threads, void **arguments)
{
    struct function *f = function;
    if (f < functions || f >= functions + NRATES + 2 * NMATRICES)
        return -1;
    if (f->rate)
        count(f->rate, blocks, threads, arguments);
    else if (f->random)
        fill(f->random, arguments);
    else
        apply(f->multiply, arguments);
    return 0;
}
