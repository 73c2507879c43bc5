/* The parts of the suite that measures; each prints its figures and is nonzero where it broke off. */
#ifndef ENVBUILD_FAST_H
#define ENVBUILD_FAST_H

#include "measure.h"

/* Where code is: the folder of the prebuilt, and what the image's compiler made (NULL = nothing),
 * whose kernels carry `suffix` behind their names. */
struct codes {
    const char *folder, *fma, *memory, *suffix;
};

int compute(struct bench *bench, const struct codes *codes);
int memory(struct bench *bench, const struct codes *codes);
int copies(struct bench *bench, const struct codes *codes);
int latency(struct bench *bench, const struct codes *codes);

/* The module of prebuilt code of that name; NULL = it was said why not. */
void *prebuilt(const struct codes *codes, const char *name);
/* A kernel of a module that the image compiled. */
void *named_kernel(void *module, const char *name, const char *suffix);

/* How many parts of a result were compared, and how many are not what they must be. */
void data(const char *name, long long compared, long long wrong);

#endif
