/* A sum over all devices by the image's own NCCL, compared in every number.
 *
 * probe reduce --nonce TEXT [FOLDER...]
 *
 * libnccl.so.2 is the one that the loader finds, else the one in the first FOLDER that has it. One
 * process drives all devices. Rank r brings whole numbers below 2^18: sums of up to 64 are exact.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "several.h"

enum { NUMBERS = 4 << 20, ROUNDS = 5, FLOAT32 = 7, SUM = 0 }; /* nccl.h of 2.0 to 2.28 */

#define NCCL_FUNCTIONS(X) \
    X(version, ncclGetVersion, (int *version)) \
    X(init_all, ncclCommInitAll, (void **communicators, int count, const int *devices)) \
    X(all_reduce, ncclAllReduce, \
      (const void *from, void *to, size_t count, int type, int operation, void *communicator, \
       void *stream)) \
    X(group_start, ncclGroupStart, (void)) \
    X(group_end, ncclGroupEnd, (void)) \
    X(destroy, ncclCommDestroy, (void *communicator))

#define FIELD(field, symbol, parameters) int (*field) parameters;
static struct {
    NCCL_FUNCTIONS(FIELD)
    const char *(*error_string)(int code);
} nccl;
#undef FIELD

static void *communicators[DEVICES], *streams[DEVICES];

/* Like `checked`, for a library with names of errors of its own. */
static int asked(const char *name, int code)
{
    if (!code)
        return 0;
    event("failed");
    text("call", name);
    text("says", nccl.error_string ? nccl.error_string(code) : "");
    whole("code", code);
    close_event();
    return code;
}
#define ASK(field, arguments) asked("nccl " #field, nccl.field arguments)

static int open_library(char **folders)
{
    char path[PATH_MAX];
    int version = 0;
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    const char *error = library ? "" : dlerror(), *missing = "";
    char first[512];
    snprintf(first, sizeof first, "%s", error ? error : "");
    for (; !library && *folders; folders++) {
        snprintf(path, sizeof path, "%s/libnccl.so.2", *folders);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    event("library");
    if (!library) {
        text("error", first);
        close_event();
        return 1;
    }
    loaded_path(library, path, sizeof path);
    text("path", path);
#define LOOK_UP(field, symbol, parameters) \
    if (!(nccl.field = (int (*) parameters)dlsym(library, #symbol))) \
        missing = #symbol;
    NCCL_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    nccl.error_string = (const char *(*)(int))dlsym(library, "ncclGetErrorString");
    if (!*missing)
        nccl.version(&version);
    text("missing", missing);
    whole("version", version);
    close_event();
    return *missing != 0;
}

static float number(unsigned i, unsigned rank)
{
    unsigned x = (i + 7 * rank) * 2654435761u;
    return (float)((x ^ (x >> 15)) & 0x3ffffu);
}

static int fill_all(struct several *all, float *host)
{
    for (int r = 0; r < all->count; r++) {
        for (unsigned i = 0; i < NUMBERS; i++)
            host[i] = number(i, (unsigned)r);
        if (enter(&all->each[r]) ||
            CHECK(to_device, (all->each[r].from, host, (size_t)NUMBERS * 4)) ||
            CHECK(stream_create, (&streams[r], 1)))
            return 1;
    }
    return 0;
}

static int sum(struct several *all)
{
    if (ASK(group_start, ()))
        return 1;
    for (int r = 0; r < all->count; r++) {
        struct one *one = &all->each[r];
        if (enter(one) || ASK(all_reduce, ((void *)one->from, (void *)one->to, NUMBERS, FLOAT32, SUM,
                                           communicators[r], streams[r])))
            return 1;
    }
    return ASK(group_end, ());
}

static int settle(struct several *all)
{
    for (int r = 0; r < all->count; r++) {
        if (enter(&all->each[r]) || CHECK(stream_synchronize, (streams[r])))
            return 1;
    }
    return 0;
}

/* The sum on every device against the one made here. */
static int compare(const char *kind, struct several *all, float *host)
{
    long long wrong = 0, compared = 0;
    for (int r = 0; r < all->count; r++) {
        if (enter(&all->each[r]) ||
            CHECK(to_host, (host, all->each[r].to, (size_t)NUMBERS * 4)))
            return 1;
        for (unsigned i = 0; i < NUMBERS; i++, compared++) {
            float right = 0;
            for (int k = 0; k < all->count; k++)
                right += number(i, (unsigned)k);
            wrong += !(host[i] == right);
        }
    }
    event(kind);
    whole("ranks", all->count);
    whole("compared", compared);
    whole("wrong", wrong);
    close_event();
    return 0;
}

static int exercise(struct several *all, float *host)
{
    int last = all->count - 1;
    if (fill_all(all, host) || ASK(init_all, (communicators, all->count, NULL)) || sum(all) ||
        settle(all) || compare("summed", all, host))
        return 1;
    double start = seconds();
    for (int i = 0; i < ROUNDS; i++) {
        if (sum(all))
            return 1;
    }
    if (settle(all))
        return 1;
    /* What each link carries, as nccl-tests counts it. */
    double each = (seconds() - start) / ROUNDS, share = 2.0 * last / all->count;
    event("speed");
    real("gbs", (double)NUMBERS * 4 * share / each / 1e9);
    close_event();
    float off = number(NUMBERS / 2, (unsigned)last) + 1;
    if (enter(&all->each[last]) ||
        CHECK(to_device, (all->each[last].from + (size_t)(NUMBERS / 2) * 4, &off, 4)) ||
        sum(all) || settle(all) || compare("changed", all, host))
        return 1;
    for (int r = 0; r < all->count; r++) {
        if (ASK(destroy, (communicators[r])))
            return 1;
    }
    return 0;
}

int reduce(char **arguments)
{
    struct several all;
    if (strcmp(arguments[0], "--nonce") || !arguments[1]) {
        fprintf(stderr, "probe reduce: --nonce TEXT [FOLDER...]\n");
        return 2;
    }
    event("start");
    text("nonce", arguments[1]);
    close_event();
    float *host = malloc((size_t)NUMBERS * 4);
    int bad = !host || open_library(arguments + 2) || open_driver() ||
              open_all(&all, (size_t)NUMBERS * 4) || exercise(&all, host);
    if (!bad)
        close_all(&all);
    free(host);
    event("end");
    text("nonce", arguments[1]);
    whole("calls", calls);
    whole("bad", bad);
    close_event();
    return 0;
}
