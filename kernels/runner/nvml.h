/* The state of the device as NVML tells it; read from a library of the driver, by dlopen. */
#ifndef ENVBUILD_NVML_H
#define ENVBUILD_NVML_H

#include "session.h"

/* One event: clocks in MHz, temperature in degrees Celsius, why clocks are low (NVML's bits),
 * power in milliwatts, use in percent, memory in bytes; a field that NVML does not know is left
 * out. `when` says where in the run it was read. */
void health(const char *when, const struct device *device);

/* How busy the device was of late, in percent; -1 = NVML does not say. */
int utilisation(const struct device *device);

#endif
