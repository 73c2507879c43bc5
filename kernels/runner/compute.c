/* Multiply-adds of f32 and f64, and the clock that they ran at; the f32 ones of the image beside ours. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fast.h"
#include "nvml.h"

/* As in fma.cu: chains a thread, steps a round. */
enum { CHAINS = 8, STEPS = 32, THREADS = 1024, PAIRS = 21 };
/* Below 2^24 / 8 steps a chain, on half the SMs too, every sum is exact in single precision. */
enum { F32_ROUNDS = 30000, F64_ROUNDS = 200000 };

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
    double per_round = 2.0 * CHAINS * STEPS * f->threads * f->blocks * f->times;
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
    double steps = (double)work->rounds * f->times * STEPS;
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

static int throughput(struct bench *b, struct fma *f, const char *const names[3])
{
    struct fma h = half(f);
    struct work work = work_of(f, names[0], 1);
    if (size(b, &work, 5, f->doubles ? F64_ROUNDS : F32_ROUNDS) || warm(b, &work) ||
        measure(b, &work, MANY_SAMPLES, f->blocks) || check(f, names[0], &work, 0) ||
        check(f, names[2], &work, 1))
        return 1;
    struct work halved = work_of(&h, names[1], work.rounds);
    return measure(b, &halved, FEW_SAMPLES, h.blocks) || check(&h, names[1], &halved, 0);
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

/* The kernel of a kind in this module, laid out over all SMs; `sums` is there already. */
static int find(struct fma *f, struct bench *b, void *module, const char *name, const char *run)
{
    f->bench = b;
    f->blocks = (unsigned)b->device->sms;
    f->threads = THREADS;
    f->times = 1;
    if (!module || !(f->kernel = named_kernel(module, name, run)))
        return 1;
    f->shared = one_a_sm(b, f->kernel);
    return 0;
}

int compute(struct bench *b, const struct codes *codes)
{
    static const char *const F32[3] = {"fma.f32", "fma.f32.half", "fma.f32.more"};
    static const char *const F64[3] = {"fma.f64", "fma.f64.half", "fma.f64.more"};
    void *module = prebuilt(codes, "fma");
    struct fma f32 = {0}, f64 = {0};
    if (CHECK(allocate, (&f32.sums, (size_t)b->device->sms * THREADS * 8)))
        return 1;
    f64.sums = f32.sums;
    f64.doubles = 1;
    int bad = find(&f32, b, module, "envbuild_fma_f32", "") ||
              find(&f64, b, module, "envbuild_fma_f64", "");
    if (!bad) {
        quiet(b);
        bad = throughput(b, &f32, F32) || clocks(b) || throughput(b, &f64, F64);
    }
    return CHECK(release, (f32.sums)) || bad;
}

/* What the image's compiler made of the same source, against ours; then on half the SMs. */
static int paired(struct bench *b, struct fma *ours, struct fma *image)
{
    struct fma h = half(image);
    struct work a = work_of(ours, "codegen.fma", 1);
    if (size(b, &a, 5, F32_ROUNDS) || warm(b, &a))
        return 1;
    struct work i = work_of(image, "codegen.fma", a.rounds);
    struct work halved = work_of(&h, "codegen.fma.half", a.rounds);
    return CHECK(fill, (image->sums, 0, image->blocks * THREADS)) ||
           compare_pair(b, &a, &i, PAIRS) || CHECK(fill, (image->sums, 0, image->blocks * THREADS)) ||
           i.run(&i) || CHECK(stream_synchronize, (b->stream)) || check(image, i.name, &i, 0) ||
           compare_pair(b, &a, &halved, FEW_SAMPLES);
}

int fma_pairs(struct bench *b, const struct codes *codes)
{
    struct fma ours = {0}, image = {0};
    if (CHECK(allocate, (&ours.sums, (size_t)b->device->sms * THREADS * 4)))
        return 1;
    image.sums = ours.sums;
    int bad = find(&ours, b, prebuilt(codes, "fma"), "envbuild_fma_f32", "") ||
              find(&image, b, load_module(codes->image), "envbuild_fma_f32", codes->run) ||
              paired(b, &ours, &image);
    return CHECK(release, (ours.sums)) || bad;
}
