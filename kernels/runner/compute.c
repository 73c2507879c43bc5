/* Multiply-adds of f32 and f64, the clock that they ran at, and what the image's compiler makes. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fast.h"
#include "nvml.h"

/* As in fma.cu: chains a thread, steps a round of each kind. */
enum { CHAINS = 8, F32_STEPS = 32, F64_STEPS = 8, THREADS = 1024, PAIRS = 21 };

struct fma {
    struct bench *bench;
    void *kernel;
    device_pointer sums;
    int doubles;
    unsigned blocks, threads, shared, times; /* times: how much longer than its rounds say */
};

static int run(struct work *work)
{
    struct fma *f = work->state;
    unsigned rounds = work->rounds * f->times;
    float m = 1, c = 1;
    double dm = 1, dc = 1;
    void *singles[] = {&f->sums, &rounds, &m, &c}, *doubles[] = {&f->sums, &rounds, &dm, &dc};
    return CHECK(launch, (f->kernel, f->blocks, 1, 1, f->threads, 1, 1, f->shared, f->bench->stream,
                          f->doubles ? doubles : singles, NULL));
}

static struct work work_of(struct fma *f, const char *name, unsigned rounds)
{
    unsigned steps = f->doubles ? F64_STEPS : F32_STEPS;
    double per_round = 2.0 * CHAINS * steps * f->threads * f->blocks * f->times;
    return (struct work){name, run, rounds, per_round, f};
}

/* More than half of what an SM has: no SM gets a second block. */
static unsigned one_a_sm(struct bench *b, void *kernel)
{
    int sm = attribute(b->device, ATTRIBUTE_SM_SHARED);
    int most = attribute(b->device, ATTRIBUTE_BLOCK_SHARED);
    int wanted = sm / 2 + 1024 < most ? sm / 2 + 1024 : most;
    if (!cu.function_attribute || cu.function_attribute(kernel, FUNCTION_SHARED, wanted))
        return 0;
    return (unsigned)wanted;
}

/* Every thread's sum says how many steps its chains took; `more` asks for that many too many. */
static int check(struct fma *f, const char *name, const struct work *work, int more)
{
    size_t n = (size_t)f->blocks * f->threads, wrong = 0;
    double steps = (double)work->rounds * f->times * (f->doubles ? F64_STEPS : F32_STEPS);
    double *doubles = malloc(n * sizeof *doubles);
    float *singles = (float *)doubles;
    if (!doubles || CHECK(to_host, (doubles, f->sums, n * (f->doubles ? 8 : 4)))) {
        free(doubles);
        return 1;
    }
    for (size_t i = 0; i < n; i++) {
        double want = CHAINS * (steps + more) + 28 + 8 * (double)(i % CHAINS);
        if (!((f->doubles ? doubles[i] : (double)singles[i]) == want))
            wrong++;
    }
    free(doubles);
    data(name, (long long)n, (long long)wrong);
    return 0;
}

/* The same work on half the SMs takes twice as long; one SM alone keeps half its schedulers. */
static struct fma half(const struct fma *f)
{
    struct fma h = *f;
    if (f->blocks > 1)
        h.blocks = f->blocks / 2;
    else
        h.threads = 64;
    h.times = 2;
    return h;
}

static int throughput(struct bench *b, struct fma *f, const char *const names[3], unsigned *rounds)
{
    struct fma h = half(f);
    struct work work = work_of(f, names[0], 1);
    /* Below 2^24 / 8 steps a chain, every sum is exact. */
    if (size(b, &work, 5, f->doubles ? 200000 : 30000) || warm(b, &work) ||
        measure(b, &work, MANY_SAMPLES, f->blocks) || check(f, names[0], &work, 0) ||
        check(f, names[2], &work, 1))
        return 1;
    struct work halved = work_of(&h, names[1], work.rounds);
    *rounds = work.rounds;
    return measure(b, &halved, FEW_SAMPLES, h.blocks) || check(&h, names[1], &halved, 0);
}

/* What the image's compiler made of the same source, against ours; then on half the SMs. */
static int paired(struct bench *b, const struct codes *codes, struct fma *ours, unsigned rounds)
{
    void *module = load_module(codes->image);
    struct fma image = *ours, h;
    if (!module || !(image.kernel = named_kernel(module, "envbuild_fma_f32", codes->run)))
        return 1;
    image.shared = one_a_sm(b, image.kernel);
    h = half(&image);
    struct work a = work_of(ours, "codegen.fma", rounds), i = work_of(&image, "codegen.fma", rounds);
    struct work halved = work_of(&h, "codegen.fma.half", rounds);
    return CHECK(fill, (image.sums, 0, image.blocks * THREADS)) || compare_pair(b, &a, &i, PAIRS) ||
           i.run(&i) || CHECK(stream_synchronize, (b->stream)) || 
           check(&image, i.name, &i, 0) ||
           compare_pair(b, &a, &halved, FEW_SAMPLES);
}

static int spin(struct bench *b, unsigned long long ends[3])
{
    unsigned long long cycles = 10000000;
    void *arguments[] = {&cycles, &b->spare};
    return launch(b->spin, 1, 1, b->stream, arguments) || CHECK(stream_synchronize, (b->stream)) ||
           CHECK(to_host, (ends, b->spare, 24));
}

/* Two spins with a pause between: over all of it the SM's cycles in use pass too slowly. */
static int clocks(struct bench *b)
{
    unsigned long long first[3], second[3];
    if (spin(b, first))
        return 1;
    usleep((useconds_t)((first[2] - first[1]) / 1000 * 3));
    if (spin(b, second))
        return 1;
    event("spins");
    whole("spun_cycles", (long long)first[0]);
    whole("spun_ns", (long long)(first[2] - first[1]));
    whole("both_cycles", (long long)(first[0] + second[0]));
    whole("both_ns", (long long)(second[2] - first[1]));
    close_event();
    return 0;
}

/* How busy the device is without us. What ran before us counts for about a second more. */
static void quiet(struct bench *b)
{
    double start = seconds();
    int busy = utilisation(b->device);
    while (busy > 20 && seconds() - start < 2) {
        usleep(50000);
        busy = utilisation(b->device);
    }
    event("quiet");
    whole("busy", busy);
    close_event();
}

int compute(struct bench *b, const struct codes *codes)
{
    static const char *const F32[3] = {"fma.f32", "fma.f32.half", "fma.f32.more"};
    static const char *const F64[3] = {"fma.f64", "fma.f64.half", "fma.f64.more"};
    void *module = prebuilt(codes, "fma");
    unsigned sms = (unsigned)b->device->sms, f32_rounds = 1, f64_rounds = 1;
    struct fma f32 = {b, NULL, 0, 0, sms, THREADS, 0, 1}, f64;
    if (!module || CHECK(allocate, (&f32.sums, (size_t)sms * THREADS * 8)))
        return 1;
    f64 = f32;
    f64.doubles = 1;
    int bad = !(f32.kernel = kernel_of(module, "envbuild_fma_f32")) ||
              !(f64.kernel = kernel_of(module, "envbuild_fma_f64"));
    if (!bad) {
        quiet(b);
        f32.shared = one_a_sm(b, f32.kernel);
        f64.shared = one_a_sm(b, f64.kernel);
        bad = throughput(b, &f32, F32, &f32_rounds) || clocks(b) ||
              throughput(b, &f64, F64, &f64_rounds) ||
              (codes->image && paired(b, codes, &f32, f32_rounds));
    }
    return CHECK(release, (f32.sums)) || bad;
}
