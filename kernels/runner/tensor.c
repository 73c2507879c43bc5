/* The rate of the tensor cores, a type at a time: on all SMs, and on half of them. */
#include <stdio.h>
#include <stdlib.h>

#include "fast.h"

enum { THREADS = 512, WARP = 32, CHAINS = 8, STEPS = 16, ELEMENTS = 16 * 8 };

/* A type as rates.cu has it: a register full of ones (f64: none, it takes a double), how deep a step
 * is, which it adds to each of a thread's sums, and how many steps keep these exact. */
static const struct type {
    const char *name, *file;
    unsigned ones, depth, most;
} TYPES[] = {
    {"f16", "rates", 0x3c003c00, 16, 1 << 19},
    {"bf16", "rates", 0x3f803f80, 16, 1 << 19},
    {"tf32", "rates", 0x3f800000, 8, 1 << 20},
    {"s8", "rates", 0x01010101, 32, 1 << 22},
    {"f64", "rates", 0, 16, 1 << 22},
    /* Sums of 8.9 keep 14 bits. */
    {"f8", "rates8", 0x38383838, 32, 1 << 13},
};

struct rate {
    struct bench *bench;
    const struct type *type;
    void *kernel;
    device_pointer totals;
    unsigned blocks, threads;
};

static int run(struct work *work)
{
    struct rate *r = work->state;
    unsigned ones = r->type->ones;
    double one = 1;
    void *arguments[] = {&r->totals, &work->rounds, ones ? (void *)&ones : (void *)&one};
    return launch(r->kernel, r->blocks, r->threads, r->bench->stream, arguments);
}

static struct work work_of(struct rate *r, const char *name, unsigned rounds)
{
    double warps = (double)r->threads / WARP * r->blocks;
    double operations = 2.0 * ELEMENTS * r->type->depth * CHAINS * STEPS;
    return (struct work){name, run, rounds, warps * operations, r};
}

/* The total of every thread says how many steps there were; `more` asks for that many too many. */
static int check(struct rate *r, const char *name, const struct work *work, int more)
{
    size_t n = (size_t)r->blocks * r->threads, wrong = 0;
    double sums = CHAINS * ELEMENTS / WARP;
    double want = ((double)work->rounds * STEPS + more) * r->type->depth * sums;
    double *totals = malloc(n * sizeof *totals);
    if (!totals || CHECK(to_host, (totals, r->totals, n * sizeof *totals))) {
        free(totals);
        return 1;
    }
    for (size_t i = 0; i < n; i++)
        wrong += !(totals[i] == want);
    free(totals);
    data(name, (long long)n, (long long)wrong);
    return 0;
}

static int rate(struct rate *all)
{
    char name[32], half_name[32], more_name[32];
    snprintf(name, sizeof name, "tensor.%s", all->type->name);
    snprintf(half_name, sizeof half_name, "tensor.%s.half", all->type->name);
    snprintf(more_name, sizeof more_name, "tensor.%s.more", all->type->name);
    struct work work = work_of(all, name, 1);
    if (size(all->bench, &work, 5, all->type->most / STEPS) || warm(all->bench, &work) ||
        measure(all->bench, &work, MANY_SAMPLES, all->blocks) || check(all, name, &work, 0) ||
        check(all, more_name, &work, 1))
        return 1;
    /* As many steps on half the SMs, or on half the schedulers of the only one. */
    struct rate half = *all;
    if (half.blocks > 1)
        half.blocks /= 2;
    else
        half.threads = 2 * WARP;
    struct work halved = work_of(&half, half_name, work.rounds);
    return measure(half.bench, &halved, FEW_SAMPLES, half.blocks) ||
           check(&half, half_name, &halved, 0);
}

/* The kernel of a type; NULL where the device has none: there is no code for it. */
static void *kernel_for(const struct codes *codes, const struct type *type)
{
    char text[4096];
    void *module = NULL, *kernel = NULL;
    snprintf(text, sizeof text, "%s/%s.fatbin", codes->folder, type->file);
    void *image = read_file(text);
    snprintf(text, sizeof text, "envbuild_rate_%s", type->name);
    if (!image || cu.module_load(&module, image) || cu.module_function(&kernel, module, text))
        kernel = NULL;
    free(image);
    return kernel;
}

int tensor(struct bench *b, const struct codes *codes)
{
    struct rate r = {b, NULL, NULL, 0, (unsigned)b->device->sms, THREADS};
    if (CHECK(allocate, (&r.totals, (size_t)r.blocks * THREADS * sizeof(double))))
        return 1;
    int bad = 0;
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES && !bad; i++) {
        r.type = &TYPES[i];
        if ((r.kernel = kernel_for(codes, r.type)))
            bad = rate(&r);
    }
    return CHECK(release, (r.totals)) || bad;
}
