#include "measure.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvml.h"

enum { STAMPS = 1024, STAMP_BYTES = STAMPS * 16, QUEUE_CYCLES = 120000 };

static char *path_in(const char *folder, const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

int open_bench(struct bench *b, const struct device *device, const char *folder)
{
    memset(b, 0, sizeof *b);
    b->device = device;
    void *module = load_module(path_in(folder, "clock.fatbin"));
    return !module || !(b->stamp = kernel_of(module, "envbuild_stamp")) ||
           !(b->spin = kernel_of(module, "envbuild_spin")) ||
           !(b->nothing = kernel_of(module, "envbuild_nothing")) ||
           CHECK(stream_create, (&b->stream, 0)) || CHECK(event_create, (&b->start, 0)) ||
           CHECK(event_create, (&b->end, 0)) || CHECK(allocate, (&b->stamps, 2 * STAMP_BYTES)) ||
           CHECK(allocate, (&b->spare, 64));
}

void close_bench(struct bench *b)
{
    if (b->stamps)
        CHECK(release, (b->stamps));
    if (b->spare)
        CHECK(release, (b->spare));
    if (b->start)
        CHECK(event_destroy, (b->start));
    if (b->end)
        CHECK(event_destroy, (b->end));
    if (b->stream)
        CHECK(stream_destroy, (b->stream));
}

/* Two blocks for each SM: they are spread before any SM gets a second one. */
static int stamp(struct bench *b, int which)
{
    device_pointer to = b->stamps + (device_pointer)which * STAMP_BYTES;
    void *arguments[] = {&to};
    return launch(b->stamp, 2 * (unsigned)b->device->sms, 32, b->stream, arguments);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median SM's cycles between the stamps, and the time that it saw pass. */
static int read_stamps(struct bench *b, struct sample *into)
{
    static uint64_t stamps[2][STAMPS][2];
    double cycles[STAMPS], ns[STAMPS];
    int n = 0;
    if (CHECK(to_host, (stamps, b->stamps, sizeof stamps)))
        return 1;
    for (int i = 0; i < STAMPS; i++) {
        if (!stamps[0][i][1] || !stamps[1][i][1])
            continue;
        cycles[n] = (double)(int64_t)(stamps[1][i][0] - stamps[0][i][0]);
        ns[n++] = (double)(int64_t)(stamps[1][i][1] - stamps[0][i][1]);
    }
    if (!n) {
        event("unstamped");
        close_event();
        return 1;
    }
    qsort(cycles, (size_t)n, sizeof *cycles, ascending);
    qsort(ns, (size_t)n, sizeof *ns, ascending);
    into->cycles = cycles[n / 2];
    into->ns = ns[n / 2];
    into->sms = n;
    return 0;
}

/* The device spins while the rest is queued, so that no launch is waited for between the stamps. */
static int queue(struct bench *b, struct work *work)
{
    unsigned long long cycles = QUEUE_CYCLES;
    device_pointer nowhere = 0;
    void *arguments[] = {&cycles, &nowhere};
    return CHECK(fill, (b->stamps, 0, 2 * STAMP_BYTES / 4)) ||
           launch(b->spin, 1, 1, b->stream, arguments) || stamp(b, 0) ||
           CHECK(event_record, (b->start, b->stream)) || work->run(work) ||
           CHECK(event_record, (b->end, b->stream)) || stamp(b, 1);
}

static int collect(struct bench *b, struct sample *into)
{
    float ms = 0;
    if (CHECK(stream_synchronize, (b->stream)) || CHECK(event_elapsed, (&ms, b->start, b->end)))
        return 1;
    into->us = (double)ms * 1e3;
    return read_stamps(b, into);
}

int sample(struct bench *b, struct work *work, struct sample *into)
{
    return queue(b, work) || collect(b, into);
}

int size(struct bench *b, struct work *work, double ms, unsigned most)
{
    struct sample s;
    for (work->rounds = 1;;) {
        if (sample(b, work, &s))
            return 1;
        /* Short shots say little: each grows at most a hundredfold, so that none is too long. */
        double wanted = work->rounds * ms * 1e3 / (s.us > 1 ? s.us : 1), limit = work->rounds * 100.0;
        int last = wanted <= limit || work->rounds >= most;
        if (wanted > limit)
            wanted = limit;
        work->rounds = wanted < 1 ? 1 : wanted > most ? most : (unsigned)wanted;
        if (last)
            return 0;
    }
}

int warm(struct bench *b, struct work *work)
{
    double start = seconds(), reference = 0;
    for (int steady = 0; seconds() - start < 2;) {
        struct sample s;
        if (sample(b, work, &s))
            return 1;
        double mhz = s.us > 0 ? s.cycles / s.us : 0;
        steady = mhz > reference * 0.99 && mhz < reference * 1.01 ? steady + 1 : 0;
        if (!steady)
            reference = mhz;
        if (steady >= 4 && seconds() - start > 0.3)
            break;
    }
    return 0;
}

/* How many samples are looked at, and the ranks from either end, counted from 0, between which the
 * median lies with 95 %: P(binomial(n, 1/2) <= rank) <= 0.025. */
static const struct {
    int n, rank;
} LOOKS[] = {{21, 5}, {31, 9}, {41, 13}, {51, 18}, {61, 22}};

/* The interval of the median is below 1 % wide; only asked at the counts of LOOKS. */
static int narrow(const double *us, int n)
{
    double sorted[MANY_SAMPLES];
    memcpy(sorted, us, (size_t)n * sizeof *us);
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    for (size_t i = 0; i < sizeof LOOKS / sizeof *LOOKS; i++) {
        int r = LOOKS[i].rank;
        if (LOOKS[i].n == n)
            return sorted[n - 1 - r] - sorted[r] < 0.01 * sorted[n / 2];
    }
    return 0;
}

static void series(const char *name, const double *values, int n, int digits)
{
    printf(",\"%s\":[", name);
    for (int i = 0; i < n; i++)
        printf("%s%.*f", i ? "," : "", digits, values[i]);
    printf("]");
}

int measure(struct bench *b, struct work *work, int most, unsigned blocks)
{
    double us[MANY_SAMPLES], ns[MANY_SAMPLES], cycles[MANY_SAMPLES];
    struct sample s = {0, 0, 0, 0};
    int n = 0;
    for (int i = 0; i < 2; i++) { /* the first runs meet cold caches and tables */
        if (sample(b, work, &s))
            return 1;
    }
    while (n < most && !narrow(us, n)) {
        if (queue(b, work))
            return 1;
        if (n == FEW_SAMPLES / 2)
            health(work->name, b->device);
        if (collect(b, &s))
            return 1;
        us[n] = s.us;
        ns[n] = s.ns;
        cycles[n++] = s.cycles;
    }
    event("samples");
    text("name", work->name);
    real("work", work->per_round * work->rounds);
    whole("rounds", work->rounds);
    whole("blocks", blocks);
    whole("sms", s.sms);
    series("us", us, n, 3);
    series("ns", ns, n, 0);
    series("cycles", cycles, n, 0);
    close_event();
    return 0;
}

int compare_pair(struct bench *b, struct work *ours, struct work *image, int fours)
{
    double us[2][MANY_SAMPLES], cycles[2][MANY_SAMPLES];
    struct work *order[4] = {ours, image, image, ours};
    memset(us, 0, sizeof us);
    memset(cycles, 0, sizeof cycles);
    for (int i = 0; i < fours; i++) {
        for (int j = 0; j < 4; j++) {
            struct sample s;
            int which = order[j] == image;
            if (sample(b, order[j], &s))
                return 1;
            us[which][i] += s.us;
            cycles[which][i] += s.cycles;
        }
    }
    event("pairs");
    text("name", image->name);
    series("ours_us", us[0], fours, 3);
    series("image_us", us[1], fours, 3);
    series("ours_cycles", cycles[0], fours, 0);
    series("image_cycles", cycles[1], fours, 0);
    close_event();
    return 0;
}

void report_times(const char *name, const double *us, int n, double each)
{
    event("samples");
    text("name", name);
    real("work", each);
    series("us", us, n, 3);
    close_event();
}
