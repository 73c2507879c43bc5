/* DRAM at its widest, the L2 cache, and a dependent chase; every word that is read is checked.
 *
 * Three arrays lie behind one another in one piece. Written and read as a whole, word i is i.
 * Else a has word i = 7 - 2 i, b has i, and so triad, c = a + 3 b, gives i + 7; copy, c = b, gives i.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fast.h"

/* As in memory.cu. A sector is what DRAM gives for a single word. */
enum { BLOCK = 256, BATCH = 8, QUAD = 16, CHUNK = BLOCK * BATCH * QUAD, SECTOR = 32, PAIRS = 21 };
enum { A, B, C };

struct memory {
    struct bench *bench;
    void *write, *copy, *triad, *read, *reread, *chase;
    device_pointer array[3], wrong, ends; /* the first array is where the piece begins */
    unsigned quads;                       /* of an array */
};

/* One of the kernels at work, over a part of the arrays. */
struct task {
    struct memory *m;
    void *kernel;
    unsigned blocks, threads, count;
};

static int go(const struct task *t, void **arguments)
{
    return launch(t->kernel, t->blocks, t->threads, t->m->bench->stream, arguments);
}

static int write_to(const struct task *t, device_pointer to, unsigned slope, unsigned offset)
{
    void *arguments[] = {&to, &slope, &offset};
    return go(t, arguments);
}

/* From end to end, so that nothing of what comes first is left in the cache. */
static int run_write(struct work *work)
{
    struct task *t = work->state;
    return write_to(t, t->m->array[A], 1, 0);
}

static int run_read(struct work *work)
{
    struct task *t = work->state;
    unsigned offset = 0;
    void *arguments[] = {&t->m->array[A], &offset, &t->m->wrong};
    return go(t, arguments);
}

static int run_copy(struct work *work)
{
    struct task *t = work->state;
    void *arguments[] = {&t->m->array[C], &t->m->array[B]};
    return go(t, arguments);
}

static int run_triad(struct work *work)
{
    struct task *t = work->state;
    void *arguments[] = {&t->m->array[C], &t->m->array[A], &t->m->array[B]};
    return go(t, arguments);
}

static int run_reread(struct work *work)
{
    struct task *t = work->state;
    unsigned offset = 0;
    void *arguments[] = {&t->m->array[A], &t->count, &work->rounds, &offset, &t->m->wrong};
    return go(t, arguments);
}

static int run_chase(struct work *work)
{
    struct task *t = work->state;
    void *arguments[] = {&t->m->array[A], &t->count, &work->rounds, &t->m->ends};
    return go(t, arguments);
}

static unsigned power_of_two(unsigned long long most)
{
    unsigned p = 1;
    while (p < 1u << 30 && 2ull * p <= most)
        p *= 2;
    return p;
}

/* A quad a thread, over so many arrays. */
static struct task over(struct memory *m, void *kernel, unsigned arrays)
{
    return (struct task){m, kernel, arrays * (m->quads / BLOCK), BLOCK, 0};
}

/* 64 times the L2 cache or a sixteenth of the memory, in three arrays of a quarter of what is free. */
static int make_room(struct memory *m)
{
    const struct device *d = m->bench->device;
    size_t available = 0, total = 0, l2 = (size_t)attribute(d, ATTRIBUTE_L2);
    if (CHECK(memory_info, (&available, &total)))
        return 1;
    size_t bytes = total / 16;
    if (l2 && 64 * l2 < bytes)
        bytes = 64 * l2;
    if (bytes > available / 12)
        bytes = available / 12;
    bytes -= bytes % CHUNK;
    event("room");
    whole("available", (long long)available);
    whole("total", (long long)total);
    whole("bytes", (long long)bytes);
    close_event();
    m->quads = (unsigned)(bytes / QUAD);
    if (!bytes || CHECK(allocate, (&m->array[A], 3 * bytes)) || CHECK(allocate, (&m->wrong, 4)) ||
        CHECK(allocate, (&m->ends, (size_t)d->sms * BLOCK * 4)))
        return 1;
    m->array[B] = m->array[A] + bytes;
    m->array[C] = m->array[B] + bytes;
    return 0;
}

static int find_kernels(struct memory *m, void *module, const char *run)
{
    return !module || !(m->write = named_kernel(module, "envbuild_write", run)) ||
           !(m->copy = named_kernel(module, "envbuild_copy", run)) ||
           !(m->triad = named_kernel(module, "envbuild_triad", run)) ||
           !(m->read = named_kernel(module, "envbuild_read", run)) ||
           !(m->reread = named_kernel(module, "envbuild_reread", run)) ||
           !(m->chase = named_kernel(module, "envbuild_chase", run));
}

/* Writes an array and waits for it. */
static int put(struct memory *m, int which, unsigned slope, unsigned offset)
{
    struct task t = over(m, m->write, 1);
    return write_to(&t, m->array[which], slope, offset) ||
           CHECK(stream_synchronize, (m->bench->stream));
}

/* Reads so many arrays and says how many of their parts hold a word that is wrong. */
static int check(struct memory *m, const char *name, int which, unsigned arrays, unsigned offset)
{
    unsigned wrong = 0, parts = arrays * (m->quads / BATCH);
    struct task t = {m, m->read, parts / BLOCK, BLOCK, 0};
    void *arguments[] = {&m->array[which], &offset, &m->wrong};
    if (CHECK(fill, (m->wrong, 0, 1)) || go(&t, arguments) ||
        CHECK(stream_synchronize, (m->bench->stream)) || CHECK(to_host, (&wrong, m->wrong, 4)))
        return 1;
    data(name, parts, wrong);
    return 0;
}

/* The words that were wrong while a figure was taken. */
static int check_read(struct memory *m, const char *name, long long parts)
{
    unsigned wrong = 0;
    if (CHECK(to_host, (&wrong, m->wrong, 4)))
        return 1;
    data(name, parts, wrong);
    return CHECK(fill, (m->wrong, 0, 1));
}

static int writing(struct memory *m)
{
    struct task t = over(m, m->write, 3);
    struct work work = {"dram.write", run_write, 1, 3.0 * m->quads * QUAD, &t};
    return warm(m->bench, &work) || measure(m->bench, &work, MANY_SAMPLES, t.blocks) ||
           check(m, "dram.write", A, 3, 0) || check(m, "dram.write.other", A, 3, 1);
}

/* The figure, its data, and the data again where half of the stores were left out. */
static int storing(struct memory *m, struct work *work, const char *halved, unsigned offset)
{
    struct task *t = work->state, part = *t;
    struct work half = *work;
    part.blocks /= 2;
    half.state = &part;
    return put(m, C, 1, offset + 1) || measure(m->bench, work, MANY_SAMPLES, t->blocks) ||
           check(m, work->name, C, 1, offset) || put(m, C, 1, offset + 1) || half.run(&half) ||
           check(m, halved, C, 1, offset);
}

static int reading(struct memory *m)
{
    unsigned parts = 3 * (m->quads / BATCH), right = 4 * m->quads, other = ~right;
    struct task t = {m, m->read, parts / BLOCK, BLOCK, 0};
    struct work work = {"dram.read", run_read, 1, 3.0 * m->quads * QUAD, &t};
    return CHECK(fill, (m->wrong, 0, 1)) || measure(m->bench, &work, MANY_SAMPLES, t.blocks) ||
           check_read(m, work.name, parts) || CHECK(to_device, (m->array[B], &other, 4)) ||
           check(m, "dram.read.changed", A, 3, 0) || CHECK(to_device, (m->array[B], &right, 4));
}

/* The same walk on the CPU: where each thread must have ended. */
static int check_chase(const struct task *t, const struct work *work)
{
    size_t bytes = (size_t)t->blocks * BLOCK * 4;
    unsigned *ends = malloc(bytes);
    long long wrong = 0, n = (long long)t->blocks * t->threads;
    if (!ends || CHECK(to_host, (ends, t->m->ends, bytes))) {
        free(ends);
        return 1;
    }
    for (long long i = 0; i < n; i++) {
        unsigned own = (unsigned)(i / t->threads * BLOCK + i % t->threads);
        unsigned at = own * 2654435761u & (t->count - 1);
        for (unsigned k = 0; k < work->rounds; k++)
            at = (at * 1664525u + 1013904223u) & (t->count - 1);
        wrong += ends[own] != at;
    }
    free(ends);
    data(work->name, n, wrong);
    return 0;
}

/* One warp an SM, one load of a thread at a time: latency, where the others show bandwidth. */
static int chasing(struct memory *m)
{
    struct task t = {m, m->chase, (unsigned)m->bench->device->sms, 32, power_of_two(12ull * m->quads)};
    struct work work = {"dram.chase", run_chase, 1, (double)t.blocks * t.threads * SECTOR, &t};
    return size(m->bench, &work, 5, 100000) || measure(m->bench, &work, FEW_SAMPLES, t.blocks) ||
           check_chase(&t, &work);
}

/* A quarter of the cache again and again; then so much that it holds none of it. */
static int cache(struct memory *m)
{
    unsigned l2 = (unsigned)attribute(m->bench->device, ATTRIBUTE_L2);
    struct task t = {m, m->reread, 8 * (unsigned)m->bench->device->sms, BLOCK, 0};
    double per_round = (double)t.blocks * CHUNK;
    struct work near = {"l2.read", run_reread, 1, per_round, &t};
    struct work far = {"l2.read.far", run_reread, 1, per_round, &t};
    t.count = power_of_two(l2 / 4 / QUAD);
    if (!l2 || CHECK(fill, (m->wrong, 0, 1)) || size(m->bench, &near, 5, 1u << 20) ||
        measure(m->bench, &near, MANY_SAMPLES, t.blocks) ||
        check_read(m, near.name, (long long)t.blocks * BLOCK))
        return l2 != 0;
    t.count = power_of_two(3ull * m->quads);
    event("cache");
    whole("near_bytes", (long long)power_of_two(l2 / 4 / QUAD) * QUAD);
    whole("far_bytes", (long long)t.count * QUAD);
    close_event();
    return size(m->bench, &far, 5, 1u << 20) || measure(m->bench, &far, FEW_SAMPLES, t.blocks);
}

/* The rate by footprint, from 256 KiB to all there is: where the cache ends shows. */
static int sweep(struct memory *m)
{
    struct task t = {m, m->reread, 8 * (unsigned)m->bench->device->sms, BLOCK, 0};
    char name[64];
    struct work work = {name, run_reread, 1, (double)t.blocks * CHUNK, &t};
    for (t.count = 16384; t.count <= 3ull * m->quads && t.count < 1u << 31; t.count *= 2) {
        snprintf(name, sizeof name, "l2.sweep.%llu", (unsigned long long)t.count * QUAD);
        if (size(m->bench, &work, 1, 1u << 20) || measure(m->bench, &work, FEW_SAMPLES, t.blocks))
            return 1;
    }
    return 0;
}

/* The image's triad against ours; then one that leaves out half, which must look twice as fast. */
static int paired(struct memory *m, const struct codes *codes)
{
    struct memory image = *m;
    struct task t = over(m, m->triad, 1), i = t, part = t;
    if (find_kernels(&image, load_module(codes->image), codes->run) || put(m, A, 0u - 2, 7) ||
        put(m, B, 1, 0))
        return 1;
    i.kernel = part.kernel = image.triad;
    part.blocks /= 2;
    double bytes = 3.0 * m->quads * QUAD;
    struct work ours = {"codegen.triad", run_triad, 1, bytes, &t}, theirs = ours, half = ours;
    theirs.state = &i;
    half.state = &part;
    if (put(m, C, 1, 8) || warm(m->bench, &ours) || compare_pair(m->bench, &ours, &theirs, PAIRS) || put(m, C, 1, 8) ||
        theirs.run(&theirs) || check(m, theirs.name, C, 1, 7))
        return 1;
    theirs.name = "codegen.triad.half";
    return compare_pair(m->bench, &half, &theirs, FEW_SAMPLES);
}

static int all(struct memory *m, const struct codes *codes)
{
    (void)codes;
    double bytes = (double)m->quads * QUAD;
    struct task copying = over(m, m->copy, 1), adding = over(m, m->triad, 1);
    struct task everything = over(m, m->write, 3);
    struct work copy = {"dram.copy", run_copy, 1, 2 * bytes, &copying};
    struct work triad = {"dram.triad", run_triad, 1, 3 * bytes, &adding};
    return writing(m) || put(m, A, 0u - 2, 7) || put(m, B, 1, 0) ||
           storing(m, &triad, "dram.triad.halved", 7) || storing(m, &copy, "dram.copy.halved", 0) ||
           write_to(&everything, m->array[A], 1, 0) || reading(m) || chasing(m) || cache(m) || sweep(m);
}

/* Our kernels and the arrays, for whatever is done with them. */
static int with_arrays(struct bench *b, const struct codes *codes,
                       int (*work)(struct memory *m, const struct codes *codes))
{
    struct memory m = {.bench = b};
    int bad = find_kernels(&m, prebuilt(codes, "memory"), "") || make_room(&m) || work(&m, codes);
    bad |= m.array[A] && CHECK(release, (m.array[A]));
    bad |= m.wrong && CHECK(release, (m.wrong));
    bad |= m.ends && CHECK(release, (m.ends));
    return bad;
}

int memory(struct bench *b, const struct codes *codes)
{
    return with_arrays(b, codes, all);
}

int triad_pairs(struct bench *b, const struct codes *codes)
{
    return with_arrays(b, codes, paired);
}
