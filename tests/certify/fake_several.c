/* The part of the made libcuda that suites `multi` and `tools` use. ENVBUILD_FAKE:
 *   gpus=N       there are N devices          nopeer      none reaches another's memory
 *   corrupt      a copy between devices arrives with one number off
 *   dropped      a copy between devices is left out
 *   mig=N        the devices are MIG instances whose uuids end with N, N + 1, ...
 */
#include "fake_several.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_fast.h"

#define API __attribute__((visibility("default"))) int

int several_count(void)
{
    return fake_is("gpus") ? fake_code("gpus") : 1;
}

API cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
    memset(uuid, fake_is("mig") ? 0x11 : 0xfa, 16);
    uuid[15] = (unsigned char)(uuid[15] + device + (fake_is("mig") ? fake_code("mig") : 0));
    return 0;
}
API cuDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = device != peer && !fake_is("nopeer");
    return 0;
}
API cuCtxEnablePeerAccess(void *context, unsigned flags)
{
    (void)context, (void)flags;
    return 0;
}
API cuMemcpyPeer(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t bytes)
{
    (void)to_context, (void)from_context;
    if (fake_is("dropped"))
        return 0;
    memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    if (fake_is("corrupt"))
        ((unsigned *)(uintptr_t)to)[7] ^= 1;
    return 0;
}

static const char *const BUGS[] = {"clean", "out_of_bounds", "race", "divergent"};
enum { KINDS = sizeof BUGS / sizeof *BUGS };

void *bugs_function(const char *name)
{
    for (int i = 0; i < KINDS; i++) {
        char start[64];
        snprintf(start, sizeof start, "envbuild_%s_", BUGS[i]);
        if (!strncmp(name, start, strlen(start)))
            return (void *)&BUGS[i];
    }
    return NULL;
}

int bugs_launch(void *function, void **arguments)
{
    if (function < (void *)BUGS || function >= (void *)(BUGS + KINDS))
        return -1;
    unsigned *data = *(unsigned **)arguments[0], n = *(unsigned *)arguments[1], old[256];
    memcpy(old, data, n * sizeof *old);
    for (unsigned i = 0; i < n; i++)
        data[i] = 2 * old[n - 1 - i];
    return 0;
}
