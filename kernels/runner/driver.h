/* The part of the driver API that the probe uses, declared here so that no toolkit is needed. */
#ifndef ENVBUILD_DRIVER_H
#define ENVBUILD_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t device_pointer;
typedef struct { unsigned char bytes[16]; } device_uuid;

enum {
    ATTRIBUTE_SMS = 16,
    ATTRIBUTE_CC_MAJOR = 75,
    ATTRIBUTE_CC_MINOR = 76,
};

/* field, symbol, parameters; every function returns a CUresult, 0 = success */
#define DRIVER_FUNCTIONS(X) \
    X(init, cuInit, (unsigned flags)) \
    X(driver_version, cuDriverGetVersion, (int *version)) \
    X(error_name, cuGetErrorName, (int code, const char **name)) \
    X(device_count, cuDeviceGetCount, (int *count)) \
    X(device_get, cuDeviceGet, (int *device, int ordinal)) \
    X(device_name, cuDeviceGetName, (char *name, int size, int device)) \
    X(device_uuid, cuDeviceGetUuid, (device_uuid *uuid, int device)) \
    X(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, int device)) \
    X(device_memory, cuDeviceTotalMem_v2, (size_t *bytes, int device)) \
    X(device_bus, cuDeviceGetPCIBusId, (char *text, int size, int device)) \
    X(retain, cuDevicePrimaryCtxRetain, (void **context, int device)) \
    X(set_current, cuCtxSetCurrent, (void *context)) \
    X(synchronize, cuCtxSynchronize, (void)) \
    X(memory_info, cuMemGetInfo_v2, (size_t *available, size_t *total)) \
    X(allocate, cuMemAlloc_v2, (device_pointer *pointer, size_t bytes)) \
    X(release, cuMemFree_v2, (device_pointer pointer)) \
    X(to_device, cuMemcpyHtoD_v2, (device_pointer to, const void *from, size_t bytes)) \
    X(to_host, cuMemcpyDtoH_v2, (void *to, device_pointer from, size_t bytes)) \
    X(fill, cuMemsetD32_v2, (device_pointer to, unsigned value, size_t words)) \
    X(module_load, cuModuleLoadData, (void **module, const void *image)) \
    X(module_unload, cuModuleUnload, (void *module)) \
    X(module_function, cuModuleGetFunction, (void **function, void *module, const char *name)) \
    X(launch, cuLaunchKernel, (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, \
      unsigned by, unsigned bz, unsigned shared, void *stream, void **arguments, void **extra))

#define FIELD(field, symbol, parameters) int (*field) parameters;
struct driver {
    DRIVER_FUNCTIONS(FIELD)
};
#undef FIELD

#endif
