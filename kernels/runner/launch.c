/* One launch of one kernel, for tools that watch it from outside.
 *
 * probe launch --nonce TEXT --code FILE --kernel NAME [--uuid UUID]
 *
 * NAME is clean, out_of_bounds, race or divergent; the entry point in bugs.cu has the nonce behind
 * it. The two come together only here: a tool that writes down our command line does not thereby
 * hold the kernel's name. The kernel gets THREADS numbers in an allocation of just that size; what
 * it left there is compared with what the clean kernel gives.
 */
#include "session.h"

#include <stdio.h>
#include <string.h>

#include "probe.h"

enum { THREADS = 64 };

static int exercise(const char *code, const char *short_name, const char *nonce)
{
    char name[128];
    snprintf(name, sizeof name, "envbuild_%s_%s", short_name, nonce);
    unsigned host[THREADS], n = THREADS, wrong = 0;
    device_pointer data = 0;
    void *module = load_module(code), *kernel = module ? kernel_of(module, name) : NULL;
    void *arguments[] = {&data, &n};
    if (!kernel || CHECK(allocate, (&data, sizeof host)))
        return 1;
    for (unsigned i = 0; i < n; i++)
        host[i] = i + 1;
    if (CHECK(to_device, (data, host, sizeof host)) || launch(kernel, 1, n, NULL, arguments) ||
        CHECK(synchronize, ()) || CHECK(to_host, (host, data, sizeof host)))
        return 1;
    for (unsigned i = 0; i < n; i++)
        wrong += host[i] != 2 * (n - i);
    event("launched");
    whole("compared", n);
    whole("wrong", wrong);
    close_event();
    return CHECK(release, (data)) || CHECK(module_unload, (module));
}

int launch_once(char **arguments)
{
    const char *nonce = "", *uuid = NULL, *code = "", *kernel = "clean";
    struct device device;
    for (char **a = arguments; *a; a += 2) {
        if (!strcmp(*a, "--nonce") && a[1])
            nonce = a[1];
        else if (!strcmp(*a, "--uuid") && a[1])
            uuid = a[1];
        else if (!strcmp(*a, "--code") && a[1])
            code = a[1];
        else if (!strcmp(*a, "--kernel") && a[1])
            kernel = a[1];
        else {
            fprintf(stderr, "probe launch: %s is not understood\n", *a);
            return 2;
        }
    }
    event("start");
    text("nonce", nonce);
    close_event();
    if (open_driver() || open_device(uuid, &device))
        return 0;
    int bad = exercise(code, kernel, nonce);
    event("end");
    text("nonce", nonce);
    whole("calls", calls);
    whole("bad", bad);
    close_event();
    return 0;
}
