/* What the device reaches, in cycles, bytes and microseconds.
 *
 * probe fast PART --nonce TEXT --code FOLDER [--uuid UUID] [--image FILE --run TEXT]
 *     [--library FOLDER]
 *
 * PART is one of PARTS below. The first folder holds the prebuilt code; the file is what the image's
 * compiler made of the same sources, with _TEXT behind the names of its kernels. One JSON object a
 * line; "end" is the last line of a run that came through.
 */
#define _GNU_SOURCE
#include "fast.h"

#include <stdio.h>
#include <string.h>

#include "nvml.h"
#include "probe.h"

/* The image's code beside ours, in a process of its own: what it breaks is no figure of the device. */
static int codegen(struct bench *bench, const struct codes *codes)
{
    return !codes->image || fma_pairs(bench, codes) || triad_pairs(bench, codes);
}

static const struct {
    const char *name;
    int (*run)(struct bench *bench, const struct codes *codes);
} PARTS[] = {{"compute", compute}, {"memory", memory}, {"copies", copies}, {"latency", latency},
             {"tensor", tensor}, {"cublas", cublas}, {"codegen", codegen}};

void *prebuilt(const struct codes *codes, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.fatbin", codes->folder, name);
    return load_module(path);
}

void *named_kernel(void *module, const char *name, const char *run)
{
    char joined[256];
    snprintf(joined, sizeof joined, "%s%s%s", name, *run ? "_" : "", run);
    return kernel_of(module, joined);
}

void data(const char *name, long long compared, long long wrong)
{
    event("data");
    text("name", name);
    whole("compared", compared);
    whole("wrong", wrong);
    close_event();
}

/* What limits are computed from, as the driver gives it; 0 = it does not say. */
static void attributes(const struct device *d)
{
    event("attributes");
    whole("clock_khz", attribute(d, ATTRIBUTE_CLOCK));
    whole("memory_khz", attribute(d, ATTRIBUTE_MEMORY_CLOCK));
    whole("bus_bits", attribute(d, ATTRIBUTE_BUS_WIDTH));
    whole("l2_bytes", attribute(d, ATTRIBUTE_L2));
    whole("integrated", attribute(d, ATTRIBUTE_INTEGRATED));
    whole("ecc", attribute(d, ATTRIBUTE_ECC));
    close_event();
}

int fast(char **arguments)
{
    struct codes codes = {".", NULL, "", ""};
    const char *part = *arguments++, *nonce = "", *uuid = NULL;
    for (char **a = arguments; *a; a += 2) {
        const char **into = !strcmp(*a, "--nonce")     ? &nonce
                            : !strcmp(*a, "--uuid")    ? &uuid
                            : !strcmp(*a, "--code")    ? &codes.folder
                            : !strcmp(*a, "--image")   ? &codes.image
                            : !strcmp(*a, "--run")     ? &codes.run
                            : !strcmp(*a, "--library") ? &codes.library
                                                       : NULL;
        if (!into || !a[1]) {
            fprintf(stderr, "probe fast: %s is not understood\n", *a);
            return 2;
        }
        *into = a[1];
    }
    event("start");
    text("nonce", nonce);
    text("part", part);
    close_event();
    struct device device;
    struct bench bench;
    if (open_driver() || open_device(uuid, &device))
        return 0;
    attributes(&device);
    health("before", &device);
    int bad = open_bench(&bench, &device, codes.folder);
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS && !bad; i++) {
        if (!strcmp(part, PARTS[i].name))
            bad = PARTS[i].run(&bench, &codes);
    }
    close_bench(&bench);
    health("after", &device);
    event("end");
    text("nonce", nonce);
    whole("calls", calls);
    whole("bad", bad);
    close_event();
    return 0;
}
