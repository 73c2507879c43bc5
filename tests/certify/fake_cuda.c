/* A libcuda that is made for tests: no GPU, no driver, no figure taken from it means anything.
 *
 * Field by field it is made from the driver API's public declarations; it runs the add kernel on
 * the CPU. ENVBUILD_FAKE names, with commas, how it misbehaves:
 *   wrong        one sum is off              skip        launches do nothing
 *   wrong-image  one sum is off, only in code that is not the prebuilt one
 *   nobinary     every module answers 209    nobinary-image  only such code does
 *   anycode      code for another cc loads   anylaunch   a launch of any size is taken
 *   init=N       cuInit answers N            sync=N      cuCtxSynchronize answers N
 *   hang         a launch never ends         crash       a launch ends the process
 *   flood        cuInit prints without end   garbage     cuInit prints a broken JSON line
 *   lie          cuInit prints a whole run that never was
 *   small[=N]    there are 100 (N) MiB free  frozen     copies to the device are dropped
 * What is measured is in fake_fast.c, suite `correct` in fake_correct.c, what several devices do
 * and what tools watch in fake_several.c.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_correct.h"
#include "fake_fast.h"
#include "fake_products.h"
#include "fake_several.h"

#define API __attribute__((visibility("default"))) int

/* The prebuilt fatbin holds every target and is larger than any that a test compiles. */
enum { PREBUILT_BYTES = 50000, IMAGE_CODE = 1, PREBUILT_CODE = 2 };
static int context_of_ours;

int fake_is(const char *mode)
{
    const char *all = getenv("ENVBUILD_FAKE");
    size_t n = strlen(mode);
    for (const char *at = all ? strstr(all, mode) : NULL; at; at = strstr(at + 1, mode)) {
        if ((at == all || at[-1] == ',') && (!at[n] || at[n] == ',' || at[n] == '='))
            return 1;
    }
    return 0;
}

int fake_code(const char *mode)
{
    const char *all = getenv("ENVBUILD_FAKE"), *at = all ? strstr(all, mode) : NULL;
    return at && fake_is(mode) ? atoi(at + strlen(mode) + 1) : 0;
}

API cuInit(unsigned flags)
{
    (void)flags;
    if (fake_is("garbage")) {
        printf("{\"event\":\"sums\",\"wrong\":\"none\"\n");
        fflush(stdout);
    }
    if (fake_is("lie")) {
        printf("{\"event\":\"start\",\"nonce\":\"0\",\"count\":16777219}\n"
               "{\"event\":\"sums\",\"compared\":16777219,\"wrong\":0,\"first\":0}\n"
               "{\"event\":\"end\",\"nonce\":\"0\",\"calls\":9,\"bad\":0}\n");
        fflush(stdout);
        _exit(0);
    }
    if (fake_is("flood"))
        for (;;)
            printf("nothing to see here, line after line after line\n");
    return fake_code("init");
}

API cuDriverGetVersion(int *version) { *version = 13000; return 0; }
API cuGetErrorName(int number, const char **name) { (void)number; *name = "MADE_ERROR"; return 0; }
API cuDeviceGetCount(int *count) { *count = several_count(); return 0; }
API cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
API cuDeviceGetName(char *name, int size, int device)
{
    (void)device;
    snprintf(name, (size_t)size, "made for tests");
    return 0;
}
API cuDeviceGetUuid(unsigned char *uuid, int device)
{
    memset(uuid, 0xfa, 16);
    uuid[15] = (unsigned char)(0xfa + device);
    return 0;
}
API cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : fast_attribute(attribute);
    return 0;
}
API cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; *bytes = (size_t)1 << 30; return 0; }
API cuDeviceGetPCIBusId(char *text, int size, int device)
{
    (void)device;
    snprintf(text, (size_t)size, "0000:00:00.0");
    return 0;
}
API cuDevicePrimaryCtxRetain(void **context, int device) { (void)device; *context = &context_of_ours; return 0; }
API cuCtxSetCurrent(void *context) { (void)context; return 0; }
API cuCtxSynchronize(void) { return correct_fault() ? correct_fault() : fake_code("sync"); }
API cuMemGetInfo_v2(size_t *available, size_t *total)
{
    int mib = fake_code("small") ? fake_code("small") : 100;
    *available = fake_is("small") ? (size_t)mib << 20 : (size_t)1 << 30;
    *total = (size_t)1 << 30;
    return 0;
}
API cuMemAlloc_v2(uint64_t *pointer, size_t bytes)
{
    *pointer = (uint64_t)(uintptr_t)malloc(bytes);
    return *pointer ? 0 : 2;
}
API cuMemFree_v2(uint64_t pointer) { free((void *)(uintptr_t)pointer); return 0; }
API cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    if (!fake_is("frozen") || bytes > 4)
        memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}
API cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return 0;
}
API cuMemsetD32_v2(uint64_t to, unsigned value, size_t words)
{
    unsigned *p = (unsigned *)(uintptr_t)to;
    for (size_t i = 0; i < words; i++)
        p[i] = value;
    return 0;
}

/* A bare cubin is for one device: the probe's "other". A fatbin is taken to hold sm_90. */
API cuModuleLoadData(void **module, const void *image)
{
    if (!memcmp(image, "\177ELF", 4))
        return fake_is("anycode") ? 0 : 209;
    uint64_t bytes;
    memcpy(&bytes, (const char *)image + 8, sizeof bytes);
    int which = bytes > PREBUILT_BYTES ? PREBUILT_CODE : IMAGE_CODE;
    *module = (void *)(intptr_t)which;
    return fake_is("nobinary") || (fake_is("nobinary-image") && which == IMAGE_CODE) ? 209 : 0;
}
API cuModuleUnload(void *module) { (void)module; return 0; }
API cuModuleGetFunction(void **function, void *module, const char *name)
{
    *function = fast_function(name, module == (void *)(intptr_t)IMAGE_CODE);
    if (!*function)
        *function = bugs_function(name);
    if (!*function)
        *function = correct_function(name, module == (void *)(intptr_t)IMAGE_CODE);
    if (!*function)
        *function = products_function(name);
    if (*function)
        return 0;
    *function = module;
    /* The prebuilt code knows its kernel by one name; code of a run has one of its own. */
    const char *known = "envbuild_add";
    int same = module == (void *)(intptr_t)PREBUILT_CODE ? !strcmp(name, known)
                                                         : !strncmp(name, known, strlen(known));
    return same ? 0 : 500;
}
API cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **arguments, void **extra)
{
    (void)gz, (void)by, (void)bz, (void)stream, (void)extra;
    if (bx > 1024 || !bx || !gx || shared > 227 << 10)
        return fake_is("anylaunch") ? 0 : 1;
    if (correct_launch(function, gx, gy, arguments) >= 0 || !bugs_launch(function, arguments) ||
        products_launch(function, gx, bx, arguments) >= 0)
        return 0;
    if ((intptr_t)function != IMAGE_CODE && (intptr_t)function != PREBUILT_CODE)
        return fast_launch(function, gx, bx, arguments);
    if (fake_is("hang"))
        for (;;)
            sleep(1);
    if (fake_is("crash"))
        raise(SIGSEGV);
    if (fake_is("skip"))
        return 0;
    const float *a = *(float **)arguments[0], *b = *(float **)arguments[1];
    float *c = *(float **)arguments[2];
    unsigned n = *(unsigned *)arguments[3];
    for (unsigned i = 0; i < n; i++)
        c[i] = a[i] + b[i];
    if (fake_is("wrong") || (fake_is("wrong-image") && (intptr_t)function == IMAGE_CODE))
        c[n / 3] += 1;
    return 0;
}
