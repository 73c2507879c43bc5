/* All devices that came in, each with its own context and two buffers. */
#ifndef ENVBUILD_SEVERAL_H
#define ENVBUILD_SEVERAL_H

#include <stddef.h>
#include <stdint.h>

#include "session.h"

enum { DEVICES = 64 };

struct one {
    int ordinal;
    void *context;
    device_pointer from, to;
};

struct several {
    int count;
    size_t bytes; /* of each buffer */
    struct one each[DEVICES];
};

/* Opens and describes every device; nonzero = it was said why not. */
int open_all(struct several *all, size_t bytes);
void close_all(struct several *all);

/* Makes the device's context the current one. */
int enter(const struct one *one);

#endif
