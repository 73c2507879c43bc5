/* The driver, told apart and put to work: every call checked, every element compared.
 *
 * probe smoke --nonce TEXT --count N --code FILE [--kernel NAME] [--uuid UUID] --other CC FILE ...
 *
 * The --code module adds N elements and then shows that its own checks can fail. An --other
 * module holds code for another device; the first whose major number differs is tried.
 * One JSON object a line; "end" is the last line of a run that came through.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "session.h"

enum { THREADS = 256, MANY = 16 };
static const unsigned POISON = 0xffffffffu; /* a NaN: no sum gives it */

struct named {
    const char *name, *file;
};

/* Two integers below 2^20: their sum is exact in a float, so that "equal" means equal. */
static float value(unsigned i, unsigned seed)
{
    uint32_t x = (i + seed) * 2654435761u;
    return (float)((x ^ (x >> 15)) & 0xfffffu);
}

static void fill(float *into, unsigned n, unsigned seed)
{
    for (unsigned i = 0; i < n; i++)
        into[i] = value(i, seed);
}

/* Copies the output back and compares all of it. */
static int compare(const char *kind, device_pointer c, float *host, unsigned n)
{
    unsigned wrong = 0, first = 0, seen = 0;
    if (CHECK(to_host, (host, c, (size_t)n * 4)))
        return 1;
    for (unsigned i = 0; i < n; i++, seen++) {
        if (!(host[i] == value(i, 1) + value(i, 2)) && !wrong++)
            first = i;
    }
    event(kind);
    whole("compared", seen);
    whole("wrong", wrong);
    whole("first", first);
    close_event();
    return 0;
}

static int add(void *function, device_pointer a, device_pointer b, device_pointer c, unsigned n,
               unsigned threads)
{
    void *arguments[] = {&a, &b, &c, &n};
    return cu.launch(function, (n + THREADS - 1) / THREADS, 1, 1, threads, 1, 1, 0, NULL, arguments,
                     NULL);
}

/* The sums, then the controls on the same buffers; nonzero = it did not come through. */
static int exercise(void *image, const char *kernel, float *host, unsigned n,
                    const device_pointer p[3])
{
    void *module, *function;
    if (CHECK(module_load, (&module, image)) ||
        CHECK(module_function, (&function, module, kernel)) ||
        CHECK(fill, (p[2], POISON, n)) || CHECK(synchronize, ()))
        return 1;
    double start = seconds();
    if (checked("launch", add(function, p[0], p[1], p[2], n, THREADS)) || CHECK(synchronize, ()))
        return 1;
    event("launched");
    real("ms", (seconds() - start) * 1e3);
    close_event();
    if (compare("sums", p[2], host, n))
        return 1;
    float off = value(n / 2, 1) + value(n / 2, 2) + 1;
    if (CHECK(to_device, (p[2] + (size_t)(n / 2) * 4, &off, 4)) ||
        compare("changed", p[2], host, n))
        return 1;
    if (CHECK(fill, (p[2], POISON, n)) || CHECK(synchronize, ()) ||
        compare("skipped", p[2], host, n))
        return 1;
    /* More threads a block than any device takes: an error is the right answer, and is counted as
     * every other one would be. */
    int bad = checked("bad-launch", add(function, p[0], p[1], p[2], n, 4096));
    event("bad-launch");
    whole("answer", bad);
    close_event();
    return CHECK(synchronize, ()) || CHECK(module_unload, (module));
}

static void try_other(const struct named *others, int count, int major)
{
    for (int i = 0; i < count; i++) {
        void *image, *module = NULL;
        if (atoi(others[i].name) == major || !(image = read_file(others[i].file)))
            continue;
        int answer = cu.module_load(&module, image);
        event("other");
        text("cc", others[i].name);
        whole("answer", answer);
        close_event();
        free(image);
        return;
    }
}

static int work(const char *file, const char *kernel, unsigned n)
{
    device_pointer p[3] = {0, 0, 0};
    size_t available = 0, total = 0, bytes = (size_t)n * 4;
    int bad = 0;
    if (CHECK(memory_info, (&available, &total)))
        return 1;
    event("memory");
    whole("available", (long long)available);
    whole("total", (long long)total);
    whole("need", (long long)(3 * bytes));
    close_event();
    if (3 * bytes > available / 4)
        return 1; /* a guest takes a quarter at most */
    void *image = read_file(file);
    float *host = malloc(bytes);
    bad = !image || !host;
    for (int i = 0; i < 3 && !bad; i++)
        bad = CHECK(allocate, (&p[i], bytes));
    for (unsigned i = 0; i < 2 && !bad; i++) {
        fill(host, n, i + 1);
        bad = CHECK(to_device, (p[i], host, bytes));
    }
    if (!bad)
        bad = exercise(image, kernel, host, n, p);
    for (int i = 0; i < 3; i++) {
        if (p[i] && CHECK(release, (p[i])))
            bad = 1;
    }
    free(host);
    free(image);
    return bad;
}

int smoke(char **arguments)
{
    struct named others[MANY];
    int nothers = 0;
    const char *nonce = "", *uuid = NULL, *code = "", *kernel = "envbuild_add";
    unsigned n = 0;
    for (char **a = arguments; *a;) {
        if (!strcmp(*a, "--nonce") && a[1])
            nonce = a[1], a += 2;
        else if (!strcmp(*a, "--uuid") && a[1])
            uuid = a[1], a += 2;
        else if (!strcmp(*a, "--count") && a[1])
            n = (unsigned)strtoul(a[1], NULL, 10), a += 2;
        else if (!strcmp(*a, "--other") && a[1] && a[2] && nothers < MANY)
            others[nothers++] = (struct named){a[1], a[2]}, a += 3;
        else if (!strcmp(*a, "--code") && a[1])
            code = a[1], a += 2;
        else if (!strcmp(*a, "--kernel") && a[1])
            kernel = a[1], a += 2;
        else {
            fprintf(stderr, "probe smoke: %s is not understood\n", *a);
            return 2;
        }
    }
    event("start");
    text("nonce", nonce);
    whole("count", n);
    close_event();
    if (open_driver())
        return 0;
    struct device device;
    if (open_device(uuid, &device))
        return 0;
    try_other(others, nothers, device.major);
    int bad = work(code, kernel, n);
    event("end");
    text("nonce", nonce);
    whole("calls", calls);
    whole("bad", bad);
    close_event();
    return 0;
}
