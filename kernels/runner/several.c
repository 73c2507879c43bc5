#define _GNU_SOURCE
#include "several.h"

#include <stdio.h>
#include <string.h>

/* A device in MIG mode has the instance's own uuid only in the newer call. */
static int say_device(int ordinal, int *device)
{
    char name[256] = "";
    device_uuid id;
    int older = 0;
    if (CHECK(device_get, (device, ordinal)) || CHECK(device_name, (name, sizeof name, *device)))
        return 1;
    if (!cu.device_uuid2 || cu.device_uuid2(&id, *device)) {
        older = 1;
        if (CHECK(device_uuid, (&id, *device)))
            return 1;
    }
    char uuid[33];
    for (int i = 0; i < 16; i++)
        sprintf(uuid + 2 * i, "%02x", id.bytes[i]);
    event("device");
    whole("ordinal", ordinal);
    text("name", name);
    text("uuid", uuid);
    whole("older", older);
    close_event();
    return 0;
}

int enter(const struct one *one)
{
    return CHECK(set_current, (one->context));
}

int open_all(struct several *all, size_t bytes)
{
    int count = 0;
    memset(all, 0, sizeof *all);
    all->bytes = bytes;
    if (CHECK(init, (0)) || CHECK(device_count, (&count)))
        return 1;
    for (int i = 0; i < count && i < DEVICES; i++) {
        struct one *one = &all->each[i];
        size_t available = 0, total = 0;
        if (say_device(i, &one->ordinal) || CHECK(retain, (&one->context, one->ordinal)) ||
            enter(one) || CHECK(memory_info, (&available, &total)))
            return 1;
        if (2 * bytes > available / 4) { /* a guest takes a quarter at most */
            event("memory");
            whole("ordinal", i);
            whole("available", (long long)available);
            whole("need", (long long)(2 * bytes));
            close_event();
            return 1;
        }
        if (CHECK(allocate, (&one->from, bytes)) || CHECK(allocate, (&one->to, bytes)))
            return 1;
        all->count++;
    }
    return 0;
}

void close_all(struct several *all)
{
    for (int i = 0; i < all->count; i++) {
        if (!enter(&all->each[i])) {
            CHECK(release, (all->each[i].from));
            CHECK(release, (all->each[i].to));
        }
    }
}
