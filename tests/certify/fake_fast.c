/* The part of the made libcuda that is measured: a device with a clock of its own, made for tests.
 *
 * Every field is made: 4 SMs at 1000 MHz of cc 9.0 (256 and 128 FLOP an SM and clock), memory of
 * 1000 MHz on a bus of 256 bits (64 GB/s), 256 KiB of L2 cache. Kernels of memory.cu are really
 * carried out; time passes as work / rate says, and only for this device. ENVBUILD_FAKE:
 *   slow-fma     at half speed              slow-dram   at half speed
 *   fast-dram    1.2 x what memory can give no-clock    the memory has no clock
 *   deaf         half the SMs, same time    lazy        multiply-adds are left out
 *   keep         half a grid does it all    slow-image  the image's code is 10 % slower
 *   no-pin=N     page-locking answers N above 512 MiB   no-graph  graphs are not there
 *   cut-copy     copies leave the last byte out         integrated  memory of the host
 *   empty-graph  a graph holds nothing                 no-cache    no footprint is fast
 *   lost-store   one is left out                       crash       a launch ends the process
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_fast.h"

#define API __attribute__((visibility("default"))) int

enum { SMS = 4, BLOCK = 256, BATCH = 8, L2 = 256 << 10, STAMPS = 1024 };
static const double GHZ = 1.0, BYTES_A_NS = 64.0;
static double now = 1e6; /* ns of the device */

enum kind { STAMP, SPIN, NOTHING, FMA_F32, FMA_F64, WRITE, COPY, TRIAD, READ, REREAD, CHASE, KINDS };
static const char *const NAMES[KINDS] = {"stamp", "spin",  "nothing", "fma_f32", "fma_f64", "write",
                                         "copy",  "triad", "read",    "reread",  "chase"};
static struct function {
    enum kind kind;
    int image;
} functions[KINDS][2];

int fast_attribute(int number)
{
    switch (number) {
    case 13: return 1000000;
    case 16: return SMS;
    case 18: return fake_is("integrated");
    case 36: return fake_is("no-clock") ? 0 : 1000000;
    case 37: return 256;
    case 38: return L2;
    case 81: return 64 << 10;
    case 97: return 48 << 10;
    default: return 0;
    }
}

/* Prebuilt code knows a kernel by its name, code of a run has an underscore and the run behind it. */
void *fast_function(const char *name, int image)
{
    static const char PREFIX[] = "envbuild_";
    if (strncmp(name, PREFIX, sizeof PREFIX - 1))
        return NULL;
    name += sizeof PREFIX - 1;
    for (int k = 0; k < KINDS; k++) {
        size_t n = strlen(NAMES[k]);
        if (strncmp(name, NAMES[k], n) || (image ? name[n] != '_' : name[n]))
            continue;
        functions[k][image] = (struct function){(enum kind)k, image};
        return &functions[k][image];
    }
    return NULL;
}

static void pass(double ns, const struct function *f)
{
    now += ns * (f && f->image && fake_is("slow-image") ? 1.1 : 1.0);
}

void fake_pass(double ns)
{
    pass(ns, NULL);
}

static double dram_ns(double bytes)
{
    double share = fake_is("slow-dram") ? 0.46 : fake_is("fast-dram") ? 1.2 : 0.92;
    return bytes / (BYTES_A_NS * share) + 1000;
}

static void stamp(uint64_t *stamps)
{
    for (int i = 0; i < SMS; i++) {
        stamps[2 * i] = (uint64_t)(now * GHZ) + 1000 * (uint64_t)i;
        stamps[2 * i + 1] = (uint64_t)now;
    }
}

static void multiply(const struct function *f, unsigned blocks, unsigned threads, void **arguments)
{
    void *sums = *(void **)arguments[0];
    double steps = *(unsigned *)arguments[1] * 32.0;
    double rate = f->kind == FMA_F64 ? 128 : 256, turns = (blocks + SMS - 1) / SMS;
    if (fake_is("deaf"))
        turns = blocks / (double)SMS;
    if (threads < 128)
        rate /= 2;
    for (unsigned i = 0; i < blocks * threads && !fake_is("lazy"); i++) {
        double sum = 8 * steps + 28 + 8 * (i % 8);
        if (f->kind == FMA_F64)
            ((double *)sums)[i] = sum;
        else
            ((float *)sums)[i] = (float)sum;
    }
    pass(turns * threads * 16 * steps / (rate * (fake_is("slow-fma") ? 0.5 : 0.98)) / GHZ, f);
}

/* Time of the host. */
static void busy(void)
{
    volatile double t = 0;
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        clock_gettime(CLOCK_MONOTONIC, &end);
        t += 1;
    } while ((end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec) < 3000);
}

int fast_launch(void *function, unsigned blocks, unsigned threads, void **a)
{
    const struct function *f = function;
    uint32_t *p[3] = {NULL, NULL, NULL};
    size_t words = (size_t)blocks * BLOCK * 4;
    static size_t most;
    if (f->kind != NOTHING)
        p[0] = *(uint32_t **)a[0];
    if (f->kind == COPY || f->kind == TRIAD)
        p[1] = *(uint32_t **)a[1];
    if (f->kind == TRIAD)
        p[2] = *(uint32_t **)a[2];
    if (fake_is("keep") && (f->kind == COPY || f->kind == TRIAD)) {
        most = words > most ? words : most;
        words = most;
    }
    if (fake_is("lost-store") && f->kind == TRIAD)
        words -= 4;
    if (fake_is("crash"))
        raise(SIGSEGV);
    switch (f->kind) {
    case STAMP:
        stamp((uint64_t *)p[0]);
        break;
    case SPIN: {
        uint64_t *ends = *(uint64_t **)a[1], cycles = *(uint64_t *)a[0];
        if (ends) {
            ends[0] = cycles;
            ends[1] = (uint64_t)now;
            ends[2] = (uint64_t)(now + (double)cycles / GHZ);
            pass(3 * (double)cycles / GHZ, NULL); /* and the pause that the host makes */
        }
        pass((double)cycles / GHZ, NULL);
        break;
    }
    case NOTHING:
        busy();
        break;
    case FMA_F32:
    case FMA_F64:
        multiply(f, blocks, threads, a);
        break;
    case WRITE: {
        uint32_t slope = *(uint32_t *)a[1], offset = *(uint32_t *)a[2];
        for (size_t i = 0; i < words; i++)
            p[0][i] = (uint32_t)i * slope + offset;
        pass(dram_ns((double)words * 4), f);
        break;
    }
    case COPY:
        memcpy(p[0], p[1], words * 4);
        pass(dram_ns((double)blocks * BLOCK * 32), f);
        break;
    case TRIAD:
        for (size_t i = 0; i < words; i++)
            p[0][i] = p[1][i] + 3 * p[2][i];
        pass(dram_ns((double)blocks * BLOCK * 48), f);
        break;
    case READ: {
        uint32_t offset = *(uint32_t *)a[1], *wrong = *(uint32_t **)a[2];
        for (size_t part = 0; part < (size_t)blocks * BLOCK; part++) {
            int bad = 0;
            for (int k = 0; k < BATCH; k++) {
                size_t quad = part / BLOCK * BATCH * BLOCK + (size_t)k * BLOCK + part % BLOCK;
                for (size_t w = 4 * quad; w < 4 * quad + 4; w++)
                    bad |= p[0][w] != (uint32_t)w + offset;
            }
            *wrong += (uint32_t)bad;
        }
        pass(dram_ns((double)words * 4 * BATCH), f);
        break;
    }
    case REREAD: {
        double bytes = (double)blocks * BLOCK * BATCH * 16 * *(unsigned *)a[2];
        int near = (size_t)*(unsigned *)a[1] * 16 <= L2 && !fake_is("no-cache");
        pass(near ? bytes / (3 * BYTES_A_NS) : dram_ns(bytes), f);
        break;
    }
    case CHASE: {
        uint32_t count = *(uint32_t *)a[1], loads = *(uint32_t *)a[2], *ends = *(uint32_t **)a[3];
        for (uint32_t i = 0; i < blocks * threads; i++) {
            uint32_t own = i / threads * BLOCK + i % threads, at = own * 2654435761u & (count - 1);
            for (uint32_t n = 0; n < loads; n++)
                at = (p[0][at] * 1664525u + 1013904223u) & (count - 1);
            ends[own] = at;
        }
        pass(loads * 800.0, f);
        break;
    }
    case KINDS:
        break;
    }
    return 0;
}

API cuFuncSetAttribute(void *function, int attribute, int value)
{
    (void)function, (void)attribute, (void)value;
    return 0;
}
API cuStreamCreate(void **stream, unsigned flags) { (void)flags; *stream = &now; return 0; }
API cuStreamDestroy_v2(void *stream) { (void)stream; return 0; }
API cuStreamSynchronize(void *stream) { (void)stream; return fake_code("sync"); }
API cuEventCreate(void **event, unsigned flags)
{
    (void)flags;
    *event = malloc(sizeof(double));
    return *event ? 0 : 2;
}
API cuEventDestroy_v2(void *event) { free(event); return 0; }
API cuEventRecord(void *event, void *stream) { (void)stream; *(double *)event = now; return 0; }
API cuEventElapsedTime(float *ms, void *start, void *end)
{
    *ms = (float)((*(double *)end - *(double *)start) / 1e6);
    return 0;
}

static size_t locked;
API cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    (void)flags;
    if (fake_is("no-pin") && locked + bytes > (size_t)512 << 20)
        return fake_code("no-pin");
    size_t *block = malloc(bytes + 64);
    if (!block)
        return 2;
    *block = bytes;
    locked += bytes;
    *memory = block + 8;
    return 0;
}
API cuMemFreeHost(void *memory)
{
    size_t *block = (size_t *)memory - 8;
    locked -= *block;
    free(block);
    return 0;
}
API cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
    (void)stream;
    memcpy((void *)(uintptr_t)to, from, bytes);
    pass(2000 + (double)bytes, NULL);
    return 0;
}
API cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
    (void)stream;
    memcpy(to, (void *)(uintptr_t)from, bytes - (fake_is("cut-copy") ? 1 : 0));
    pass(2000 + (double)bytes, NULL);
    return 0;
}

API cuStreamBeginCapture_v2(void *stream, int mode)
{
    (void)stream, (void)mode;
    return fake_is("no-graph") ? 801 : 0;
}
API cuStreamEndCapture(void *stream, void **graph) { (void)stream; *graph = &now; return 0; }
API cuGraphGetNodes(void *graph, void **nodes, size_t *count)
{
    (void)graph, (void)nodes;
    *count = fake_is("empty-graph") ? 0 : 100;
    return 0;
}
API cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
    (void)flags;
    *exec = graph;
    return 0;
}
API cuGraphLaunch(void *exec, void *stream) { (void)exec, (void)stream; busy(); return 0; }
API cuGraphExecDestroy(void *exec) { (void)exec; return 0; }
API cuGraphDestroy(void *graph) { (void)graph; return 0; }
