/* Is a product right? It is where, for vectors x of +1 and -1, C * x is A' * (B * x), both made in f64 by
 * kernels of ours (freivalds.cu). What the rounding of C may explain is random, and grows with the
 * root of the length of a row.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gemm.h"
#include "numbers.h"
#include "probe.h"

enum { SIGMAS = 8, THREADS = 128 };

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

int compare(struct gemm *p, const char *name, double error)
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

double error_of(const struct type *t, int n)
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

int perturb(struct gemm *p)
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

int draw(struct gemm *p)
{
    return fill_random(p, p->a, 1) || fill_random(p, p->b, 3) || expect(p);
}
