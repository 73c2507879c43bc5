/* The parts of the probe. */
#ifndef ENVBUILD_RUNNER_PROBE_H
#define ENVBUILD_RUNNER_PROBE_H

#include <stddef.h>

int loads(char **names);
int cut(const char *name, const char *folder);
int driver(void);
int smoke(char **arguments);
int fast(char **arguments);
int correct(char **arguments);
int fault(char **arguments);
int launch_once(char **arguments);
int holds(char **arguments);
int peers(char **arguments);
int reduce(char **arguments);

/* The real path of a loaded library; empty where the loader does not say. */
void loaded_path(void *handle, char *path, size_t size);

#endif
