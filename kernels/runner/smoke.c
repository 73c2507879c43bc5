/* The driver, told apart and put to work: every call checked, every element compared.
 *
 * probe smoke --nonce TEXT --count N --code FILE [--kernel NAME] [--uuid UUID] --other CC FILE ...
 *
 * The --code module adds N elements and then shows that its own checks can fail. An --other
 * module holds code for another device; the first whose major number differs is tried.
 * One JSON object a line; "end" is the last line of a run that came through.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "driver.h"
#include "json.h"
#include "probe.h"

enum { THREADS = 256, MANY = 16 };
static const unsigned POISON = 0xffffffffu; /* a NaN: no sum gives it */

struct named {
    const char *name, *file;
};

static struct driver cu;
static int calls;

static void event(const char *kind)
{
    printf("{\"event\":\"%s\"", kind);
}

static void text(const char *name, const char *value)
{
    printf(",");
    json_text(name, value, strlen(value));
}

static void close_event(void)
{
    printf("}\n");
    fflush(stdout);
}

/* Every driver call goes through here; a failing one is said and ends what it belongs to. */
static int checked(const char *name, int code)
{
    calls++;
    if (!code)
        return 0;
    const char *says = NULL;
    if (cu.error_name)
        cu.error_name(code, &says);
    event("failed");
    text("call", name);
    text("says", says ? says : "");
    printf(",\"code\":%d", code);
    close_event();
    return code;
}
#define CHECK(field, arguments) checked(#field, cu.field arguments)

static void *read_file(const char *path)
{
    struct stat s;
    int fd = open(path, O_RDONLY);
    char *bytes = NULL;
    if (fd >= 0 && !fstat(fd, &s) && (bytes = calloc(1, (size_t)s.st_size + 1))) {
        if (read(fd, bytes, (size_t)s.st_size) != s.st_size) {
            free(bytes);
            bytes = NULL;
        }
    }
    if (fd >= 0)
        close(fd);
    if (!bytes) {
        event("unreadable");
        text("file", path);
        close_event();
    }
    return bytes;
}

static void kernel_module(char *line, size_t size)
{
    int fd = open("/proc/driver/nvidia/version", O_RDONLY);
    ssize_t n = fd < 0 ? 0 : read(fd, line, size - 1);
    if (fd >= 0)
        close(fd);
    line[n > 0 ? n : 0] = 0;
    line[strcspn(line, "\n")] = 0;
}

/* Loads libcuda and says which file it is and what it serves; nonzero = no driver to work with. */
static int open_driver(void)
{
    char path[PATH_MAX], module[256];
    int version = 0, code = -1;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    event("driver");
    if (!library) {
        text("error", dlerror());
        close_event();
        return 1;
    }
    loaded_path(library, path, sizeof path);
    text("path", path);
    kernel_module(module, sizeof module);
    text("module", module);
    const char *missing = NULL;
#define LOOK_UP(field, symbol, parameters) \
    if (!(cu.field = (int (*) parameters)dlsym(library, #symbol))) \
        missing = #symbol;
    DRIVER_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    if (missing) {
        text("error", "a function is missing");
        text("missing", missing);
        close_event();
        return 1;
    }
    code = cu.driver_version(&version);
    printf(",\"cuda\":%d,\"code\":%d", version, code);
    close_event();
    return code != 0;
}

int driver(void)
{
    open_driver();
    return 0;
}

static void uuid_text(const device_uuid *uuid, char *into)
{
    const unsigned char *b = uuid->bytes;
    sprintf(into,
            "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
            b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

/* Chooses the device, makes it current and describes it; its major number, or -1. */
static int open_device(const char *wanted)
{
    int count = 0, device = -1, major = 0, minor = 0, sms = 0;
    size_t bytes = 0;
    char name[256] = "", bus[64] = "", uuid[64] = "";
    device_uuid id;
    void *context;
    if (CHECK(init, (0)) || CHECK(device_count, (&count)))
        return -1;
    for (int i = 0; i < count; i++) {
        int one;
        if (CHECK(device_get, (&one, i)) || CHECK(device_uuid, (&id, one)))
            return -1;
        uuid_text(&id, uuid);
        if (!wanted || !strcmp(wanted, uuid)) {
            device = one;
            break;
        }
    }
    if (device < 0) {
        event("no-device");
        printf(",\"count\":%d", count);
        close_event();
        return -1;
    }
    if (CHECK(device_name, (name, sizeof name, device)) ||
        CHECK(device_attribute, (&major, ATTRIBUTE_CC_MAJOR, device)) ||
        CHECK(device_attribute, (&minor, ATTRIBUTE_CC_MINOR, device)) ||
        CHECK(device_attribute, (&sms, ATTRIBUTE_SMS, device)) ||
        CHECK(device_memory, (&bytes, device)) || CHECK(device_bus, (bus, sizeof bus, device)))
        return -1;
    event("device");
    text("name", name);
    text("uuid", uuid);
    text("bus", bus);
    printf(",\"major\":%d,\"minor\":%d,\"sms\":%d,\"bytes\":%zu,\"count\":%d", major, minor, sms, bytes,
           count);
    close_event();
    if (CHECK(retain, (&context, device)) || CHECK(set_current, (context)))
        return -1;
    return major;
}

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
    printf(",\"compared\":%u,\"wrong\":%u,\"first\":%u", seen, wrong, first);
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

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
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
    printf(",\"ms\":%.3f", (seconds() - start) * 1e3);
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
    /* More threads a block than any device takes: an error is the right answer. */
    int bad = add(function, p[0], p[1], p[2], n, 4096);
    event("bad-launch");
    printf(",\"answer\":%d", bad);
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
        printf(",\"answer\":%d", answer);
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
    printf(",\"available\":%zu,\"total\":%zu,\"need\":%zu", available, total, 3 * bytes);
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
    printf(",\"count\":%u", n);
    close_event();
    if (open_driver())
        return 0;
    int major = open_device(uuid);
    if (major < 0)
        return 0;
    try_other(others, nothers, major);
    int bad = work(code, kernel, n);
    event("end");
    text("nonce", nonce);
    printf(",\"calls\":%d,\"bad\":%d", calls, bad);
    close_event();
    return 0;
}
