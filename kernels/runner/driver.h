/* The part of the driver API that the probe uses, declared here so that no toolkit is needed. */
#ifndef ENVBUILD_DRIVER_H
#define ENVBUILD_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t device_pointer;
typedef struct { unsigned char bytes[16]; } device_uuid;

/* CUdevice_attribute; clocks in kHz, the bus in bits, sizes in bytes */
enum {
    ATTRIBUTE_CLOCK = 13,
    ATTRIBUTE_SMS = 16,
    ATTRIBUTE_INTEGRATED = 18,
    ATTRIBUTE_ECC = 32,
    ATTRIBUTE_MEMORY_CLOCK = 36,
    ATTRIBUTE_BUS_WIDTH = 37,
    ATTRIBUTE_L2 = 38,
    ATTRIBUTE_CC_MAJOR = 75,
    ATTRIBUTE_CC_MINOR = 76,
    ATTRIBUTE_SM_SHARED = 81,
    ATTRIBUTE_BLOCK_SHARED = 97,
};

enum { FUNCTION_SHARED = 8 }; /* CUfunction_attribute: dynamic shared memory of a block, in bytes */

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

/* What only the suites after smoke use. A driver that lacks one keeps its field NULL. */
#define FURTHER_FUNCTIONS(X) \
    X(function_attribute, cuFuncSetAttribute, (void *function, int attribute, int value)) \
    X(stream_create, cuStreamCreate, (void **stream, unsigned flags)) \
    X(stream_destroy, cuStreamDestroy_v2, (void *stream)) \
    X(stream_synchronize, cuStreamSynchronize, (void *stream)) \
    X(event_create, cuEventCreate, (void **event, unsigned flags)) \
    X(event_destroy, cuEventDestroy_v2, (void *event)) \
    X(event_record, cuEventRecord, (void *event, void *stream)) \
    X(event_elapsed, cuEventElapsedTime, (float *ms, void *start, void *end)) \
    X(host_allocate, cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags)) \
    X(host_release, cuMemFreeHost, (void *memory)) \
    X(to_device_async, cuMemcpyHtoDAsync_v2, \
      (device_pointer to, const void *from, size_t bytes, void *stream)) \
    X(to_host_async, cuMemcpyDtoHAsync_v2, \
      (void *to, device_pointer from, size_t bytes, void *stream)) \
    X(capture_begin, cuStreamBeginCapture_v2, (void *stream, int mode)) \
    X(capture_end, cuStreamEndCapture, (void *stream, void **graph)) \
    X(graph_nodes, cuGraphGetNodes, (void *graph, void **nodes, size_t *count)) \
    X(graph_instantiate, cuGraphInstantiateWithFlags, \
      (void **exec, void *graph, unsigned long long flags)) \
    X(graph_launch, cuGraphLaunch, (void *exec, void *stream)) \
    X(graph_exec_destroy, cuGraphExecDestroy, (void *exec)) \
    X(graph_destroy, cuGraphDestroy, (void *graph)) \
    X(device_uuid2, cuDeviceGetUuid_v2, (device_uuid *uuid, int device)) \
    X(can_access_peer, cuDeviceCanAccessPeer, (int *can, int device, int peer)) \
    X(enable_peer, cuCtxEnablePeerAccess, (void *context, unsigned flags)) \
    X(peer_copy, cuMemcpyPeer, \
      (device_pointer to, void *to_context, device_pointer from, void *from_context, size_t bytes))

#define FIELD(field, symbol, parameters) int (*field) parameters;
struct driver {
    DRIVER_FUNCTIONS(FIELD)
    FURTHER_FUNCTIONS(FIELD)
};
#undef FIELD

#endif
