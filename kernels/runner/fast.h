/* The parts of the suite that measures; each prints its figures and is nonzero where it broke off. */
#ifndef ENVBUILD_FAST_H
#define ENVBUILD_FAST_H

#include "measure.h"

/* Where code is: the folder of the prebuilt, and what the image's compiler made of the same sources
 * (NULL = nothing), whose kernels carry `run` behind their names. */
struct codes {
    const char *folder, *image, *run, *library; /* library: a folder of cuBLAS, empty = none */
};

int compute(struct bench *bench, const struct codes *codes);
int memory(struct bench *bench, const struct codes *codes);
int copies(struct bench *bench, const struct codes *codes);
int latency(struct bench *bench, const struct codes *codes);
int tensor(struct bench *bench, const struct codes *codes);
int cublas(struct bench *bench, const struct codes *codes);
/* The image's code of a kernel beside ours. */
int fma_pairs(struct bench *bench, const struct codes *codes);
int triad_pairs(struct bench *bench, const struct codes *codes);

/* The module of prebuilt code of that name; NULL = it was said why not. */
void *prebuilt(const struct codes *codes, const char *name);
/* A kernel of a module; `run` is empty for the prebuilt one. */
void *named_kernel(void *module, const char *name, const char *run);

/* How many parts of a result were compared, and how many are not what they must be. */
void data(const char *name, long long compared, long long wrong);

#endif
