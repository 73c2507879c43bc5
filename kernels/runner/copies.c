/* Copies between host and device, from page-locked memory and from plain, and how much can be locked. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fast.h"

enum { MIB = 1 << 20, LOCK_STEP = 64, LOCK_MOST = 1024, SMALL = 512, LARGEST = 64 };

struct copy {
    struct bench *bench;
    unsigned char *host;
    device_pointer device;
    int to_host;
    size_t piece; /* bytes a call; 0 = all at once */
};

/* Rounds are MiB. */
static int run(struct work *work)
{
    struct copy *c = work->state;
    size_t bytes = (size_t)work->rounds * MIB, piece = c->piece ? c->piece : bytes;
    for (size_t at = 0; at < bytes; at += piece) {
        if (c->to_host ? CHECK(to_host_async, (c->host + at, c->device + at, piece, c->bench->stream))
                       : CHECK(to_device_async, (c->device + at, c->host + at, piece, c->bench->stream)))
            return 1;
    }
    return 0;
}

/* A number of bytes from a file of one line; 0 = there is none. */
static unsigned long long number_in(const char *path)
{
    unsigned long long n = 0;
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%llu", &n) != 1)
        n = 0;
    if (f)
        fclose(f);
    return n;
}

/* MiB of host memory that may still be taken: of the machine, and of our control group. */
static unsigned host_room(void)
{
    unsigned long long kib = 0, most = number_in("/sys/fs/cgroup/memory.max");
    unsigned long long used = number_in("/sys/fs/cgroup/memory.current");
    char line[256];
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f) && sscanf(line, "MemAvailable: %llu", &kib) != 1)
        continue;
    if (f)
        fclose(f);
    if (!most) {
        most = number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes");
        used = number_in("/sys/fs/cgroup/memory/memory.usage_in_bytes");
    }
    unsigned long long room = kib / 1024, left = most > used ? (most - used) / MIB : 0;
    return (unsigned)(most && left < room ? left : room);
}

/* How much can be page-locked, tried in steps up to 1 GiB and an eighth of what the host has free.
 * A refusal is an answer and not a failure; the next call must be right again. */
static int lock_budget(unsigned *mib)
{
    void *parts[LOCK_MOST / LOCK_STEP];
    unsigned tried = host_room() / 8, n = 0, most = tried < LOCK_MOST ? tried : LOCK_MOST;
    int refused = 0;
    size_t available, total;
    while ((n + 1) * LOCK_STEP <= most && cu.host_allocate && !refused) {
        refused = cu.host_allocate(&parts[n], (size_t)LOCK_STEP * MIB, 0);
        n += !refused;
    }
    *mib = n * LOCK_STEP;
    while (n) {
        if (CHECK(host_release, (parts[--n])))
            return 1;
    }
    if (refused)
        cu.memory_info(&available, &total); /* takes along what the refusal may have left behind */
    int after = cu.memory_info(&available, &total);
    event("pinned");
    whole("bytes", (long long)*mib * MIB);
    whole("tried", (long long)most * MIB);
    whole("refused", refused);
    whole("after", after);
    close_event();
    return after;
}

static void pattern(unsigned char *host, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        host[i] = (unsigned char)(i * 2654435761u >> 24);
}

static long long differing(const unsigned char *host, size_t bytes)
{
    long long wrong = 0;
    for (size_t i = 0; i < bytes; i++)
        wrong += host[i] != (unsigned char)(i * 2654435761u >> 24);
    return wrong;
}

/* There and back from one kind of memory: the figures, then every byte. */
static int both_ways(struct copy *c, const char *names[2], unsigned most, unsigned *mib)
{
    struct work there = {names[0], run, 1, MIB, c}, back = {names[1], run, 1, MIB, c};
    pattern(c->host, (size_t)most * MIB);
    c->to_host = 0;
    if (size(c->bench, &there, 10, most) || measure(c->bench, &there, MANY_SAMPLES, 0))
        return 1;
    *mib = back.rounds = there.rounds;
    size_t bytes = (size_t)*mib * MIB;
    memset(c->host, 0, bytes);
    c->to_host = 1;
    if (measure(c->bench, &back, MANY_SAMPLES, 0))
        return 1;
    data(names[0], (long long)bytes, differing(c->host, bytes));
    return 0;
}

/* One byte of the device is changed, and what comes back must differ in that byte alone. */
static int changed(struct copy *c, unsigned mib)
{
    size_t bytes = (size_t)mib * MIB;
    struct work back = {"copy.changed", run, mib, MIB, c};
    unsigned char other = (unsigned char)~c->host[bytes / 3];
    c->to_host = 1;
    if (CHECK(to_device, (c->device + bytes / 3, &other, 1)) || back.run(&back) ||
        CHECK(stream_synchronize, (c->bench->stream)))
        return 1;
    data(back.name, (long long)bytes, differing(c->host, bytes));
    return 0;
}

/* Many small copies: the cost of each call shows. */
static int small(struct copy *c)
{
    struct work work = {"copy.to.small", run, 1, MIB, c};
    c->to_host = 0;
    c->piece = SMALL;
    int bad = measure(c->bench, &work, FEW_SAMPLES, 0);
    c->piece = 0;
    return bad;
}

int copies(struct bench *b, const struct codes *codes)
{
    static const char *PINNED[2] = {"copy.to.pinned", "copy.from.pinned"};
    static const char *PLAIN[2] = {"copy.to.plain", "copy.from.plain"};
    struct copy c = {b, NULL, 0, 0, 0};
    unsigned budget = 0, most, mib = 0;
    size_t available = 0, total = 0;
    (void)codes;
    if (lock_budget(&budget) || CHECK(memory_info, (&available, &total)))
        return 1;
    most = available / 4 / MIB < LARGEST ? (unsigned)(available / 4 / MIB) : LARGEST;
    unsigned locked = budget / 2 < most ? budget / 2 : most, plain = host_room() / 8;
    plain = plain < most ? plain : most;
    if (!most || !plain || CHECK(allocate, (&c.device, (size_t)most * MIB)))
        return 1;
    int bad = 0;
    if (locked) {
        bad = CHECK(host_allocate, ((void **)&c.host, (size_t)locked * MIB, 0)) ||
              both_ways(&c, PINNED, locked, &mib) || small(&c);
        bad |= c.host && CHECK(host_release, (c.host));
    }
    c.host = bad ? NULL : malloc((size_t)plain * MIB);
    bad = !c.host || both_ways(&c, PLAIN, plain, &mib) || changed(&c, mib);
    free(c.host);
    return CHECK(release, (c.device)) || bad;
}
