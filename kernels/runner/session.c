#define _GNU_SOURCE
#include "session.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "json.h"
#include "probe.h"

struct driver cu;
int calls;

void event(const char *kind)
{
    printf("{\"event\":\"%s\"", kind);
}

void text(const char *name, const char *value)
{
    printf(",");
    json_text(name, value, strlen(value));
}

void whole(const char *name, long long value)
{
    printf(",\"%s\":%lld", name, value);
}

void real(const char *name, double value)
{
    printf(",\"%s\":%.3f", name, value);
}

void close_event(void)
{
    printf("}\n");
    fflush(stdout);
}

int checked(const char *name, int code)
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
    whole("code", code);
    close_event();
    return code;
}

void *read_file(const char *path)
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

int open_driver(void)
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
    cu.field = (int (*) parameters)dlsym(library, #symbol);
#define NEED(field, symbol, parameters) \
    if (!cu.field) \
        missing = #symbol;
    DRIVER_FUNCTIONS(LOOK_UP)
    FURTHER_FUNCTIONS(LOOK_UP)
    DRIVER_FUNCTIONS(NEED)
#undef LOOK_UP
#undef NEED
    if (missing) {
        text("error", "a function is missing");
        text("missing", missing);
        close_event();
        return 1;
    }
    code = cu.driver_version(&version);
    whole("cuda", version);
    whole("code", code);
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

/* Its ordinal, or -1 where there is none of this uuid; the count is said, or what failed. */
static int choose(const char *wanted, char *uuid, int *count)
{
    device_uuid id;
    if (CHECK(init, (0)) || CHECK(device_count, (count)))
        return -1;
    for (int i = 0; i < *count; i++) {
        int one;
        if (CHECK(device_get, (&one, i)) || CHECK(device_uuid, (&id, one)))
            return -1;
        uuid_text(&id, uuid);
        if (!wanted || !strcmp(wanted, uuid))
            return one;
    }
    event("no-device");
    whole("count", *count);
    close_event();
    return -1;
}

int open_device(const char *wanted, struct device *d)
{
    void *context;
    int count = 0;
    memset(d, 0, sizeof *d);
    d->ordinal = choose(wanted, d->uuid, &count);
    if (d->ordinal < 0 || CHECK(device_name, (d->name, sizeof d->name, d->ordinal)) ||
        CHECK(device_attribute, (&d->major, ATTRIBUTE_CC_MAJOR, d->ordinal)) ||
        CHECK(device_attribute, (&d->minor, ATTRIBUTE_CC_MINOR, d->ordinal)) ||
        CHECK(device_attribute, (&d->sms, ATTRIBUTE_SMS, d->ordinal)) ||
        CHECK(device_memory, (&d->bytes, d->ordinal)) ||
        CHECK(device_bus, (d->bus, sizeof d->bus, d->ordinal)))
        return 1;
    event("device");
    text("name", d->name);
    text("uuid", d->uuid);
    text("bus", d->bus);
    whole("major", d->major);
    whole("minor", d->minor);
    whole("sms", d->sms);
    whole("bytes", (long long)d->bytes);
    whole("count", count);
    close_event();
    return CHECK(retain, (&context, d->ordinal)) || CHECK(set_current, (context));
}

int attribute(const struct device *device, int number)
{
    int value = 0;
    return cu.device_attribute(&value, number, device->ordinal) ? 0 : value;
}

void *load_module(const char *file)
{
    void *image = read_file(file), *module = NULL;
    if (image && CHECK(module_load, (&module, image)))
        module = NULL;
    free(image);
    return module;
}

void *kernel_of(void *module, const char *name)
{
    void *function = NULL;
    return CHECK(module_function, (&function, module, name)) ? NULL : function;
}

int launch(void *kernel, unsigned blocks, unsigned threads, void *stream, void **arguments)
{
    return CHECK(launch, (kernel, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, NULL));
}

double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
