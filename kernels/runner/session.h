/* One run on one device: the driver, the device, every call checked, one JSON object a line. */
#ifndef ENVBUILD_SESSION_H
#define ENVBUILD_SESSION_H

#include <stddef.h>

#include "driver.h"

/* What a call answers that this driver does not have: CUDA_ERROR_NOT_FOUND. */
enum { NOT_THERE = 500 };

extern struct driver cu;
extern int calls; /* to the driver, made through CHECK */

struct device {
    int ordinal, major, minor, sms;
    char name[256], uuid[64], bus[64];
    size_t bytes;
};

/* An event is one line: opened, given its fields, closed. Names and literal text need no escape. */
void event(const char *kind);
void text(const char *name, const char *value);
void whole(const char *name, long long value);
void real(const char *name, double value);
void close_event(void);

/* Every driver call goes through here; a failing one is said and ends what it belongs to. */
int checked(const char *name, int code);
#define CHECK(field, arguments) checked(#field, cu.field ? cu.field arguments : NOT_THERE)

/* Loads libcuda and says which file it is and what it serves; nonzero = no driver to work with. */
int open_driver(void);
/* Chooses the device (NULL = the first), makes its context current and describes it; 0 = done. */
int open_device(const char *uuid, struct device *device);
/* An attribute of the device; 0 where the driver does not answer. */
int attribute(const struct device *device, int number);

/* Loads a file of device code; NULL = it was said why not. */
void *load_module(const char *file);
void *kernel_of(void *module, const char *name);
int launch(void *kernel, unsigned blocks, unsigned threads, void *stream, void **arguments);

/* The bytes of a file, with a NUL behind them, to be freed; NULL = it was said why not. */
void *read_file(const char *path);
double seconds(void);

#endif
