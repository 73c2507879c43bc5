#include "nvml.h"

#include <dlfcn.h>

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0 };

struct use {
    unsigned gpu, memory;
};
struct memory {
    unsigned long long total, free, used;
};

/* field, symbol, parameters: nvml.h of CUDA 11; functions that it spells _v2 are the old ones */
#define NVML_FUNCTIONS(X) \
    X(init, nvmlInit_v2, (void)) \
    X(by_bus, nvmlDeviceGetHandleByPciBusId_v2, (const char *bus, void **device)) \
    X(clock, nvmlDeviceGetClockInfo, (void *device, int kind, unsigned *mhz)) \
    X(clock_max, nvmlDeviceGetMaxClockInfo, (void *device, int kind, unsigned *mhz)) \
    X(temperature, nvmlDeviceGetTemperature, (void *device, int sensor, unsigned *celsius)) \
    X(reasons, nvmlDeviceGetCurrentClocksThrottleReasons, \
      (void *device, unsigned long long *reasons)) \
    X(power, nvmlDeviceGetPowerUsage, (void *device, unsigned *milliwatts)) \
    X(use, nvmlDeviceGetUtilizationRates, (void *device, struct use *use)) \
    X(memory, nvmlDeviceGetMemoryInfo, (void *device, struct memory *memory))

#define FIELD_OF(field, symbol, parameters) int (*field) parameters;
static struct {
    NVML_FUNCTIONS(FIELD_OF)
} nvml;
#undef FIELD_OF

/* The handle of the device; NULL = NVML is not there or does not know it. */
static void *handle_of(const struct device *device)
{
    static void *library, *handle;
    if (library)
        return handle;
    library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return NULL;
#define LOOK_UP(field, symbol, parameters) nvml.field = (int (*) parameters)dlsym(library, #symbol);
    NVML_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    if (!nvml.init || !nvml.by_bus || nvml.init() || nvml.by_bus(device->bus, &handle))
        handle = NULL;
    return handle;
}
#define ASK(field, arguments) (nvml.field && !nvml.field arguments)

void health(const char *when, const struct device *device)
{
    void *d = handle_of(device);
    unsigned number = 0;
    unsigned long long reasons = 0;
    struct memory memory = {0, 0, 0};
    struct use use = {0, 0};
    event("health");
    text("when", when);
    if (!d) {
        text("error", "NVML does not answer");
        close_event();
        return;
    }
    if (ASK(clock, (d, CLOCK_SM, &number)))
        whole("sm_mhz", number);
    if (ASK(clock_max, (d, CLOCK_SM, &number)))
        whole("sm_max_mhz", number);
    if (ASK(clock, (d, CLOCK_MEMORY, &number)))
        whole("memory_mhz", number);
    if (ASK(clock_max, (d, CLOCK_MEMORY, &number)))
        whole("memory_max_mhz", number);
    if (ASK(temperature, (d, SENSOR_GPU, &number)))
        whole("celsius", number);
    if (ASK(reasons, (d, &reasons)))
        whole("reasons", (long long)reasons);
    if (ASK(power, (d, &number)))
        whole("milliwatts", number);
    if (ASK(use, (d, &use)))
        whole("busy", use.gpu);
    if (ASK(memory, (d, &memory)))
        whole("used", (long long)memory.used);
    close_event();
}

int utilisation(const struct device *device)
{
    struct use use = {0, 0};
    void *d = handle_of(device);
    return d && ASK(use, (d, &use)) ? (int)use.gpu : -1;
}
