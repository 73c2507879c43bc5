/* The image's cuBLAS and cuBLASLt, found as the loader finds them and looked up by name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cublas.h"
#include "probe.h"
#include "session.h"

struct blas blas;

int answered(const char *name, int code)
{
    if (!code)
        return 0;
    event("failed");
    text("call", name);
    text("says", "an answer of cuBLAS");
    whole("code", code);
    close_event();
    return code;
}

/* Where the loader finds it by name, else in the folder that a package has it in. */
static void *open_library(const char *folder, int *major)
{
    char name[PATH_MAX];
    for (int i = 0; i < 2; i++) {
        for (*major = 13; *major >= 11; (*major)--) {
            snprintf(name, sizeof name, "%s%slibcublas.so.%d", i ? folder : "", i ? "/" : "", *major);
            void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
            if (library || (i && !*folder))
                return library;
        }
    }
    return NULL;
}

int open_blas(const char *folder)
{
    int major = 0, lt_whole = 1;
    char path[PATH_MAX] = "", name[PATH_MAX + 32];
    const char *missing = NULL;
    void *library = open_library(folder, &major), *lt = NULL;
    if (library) {
        loaded_path(library, path, sizeof path);
        /* It lies beside the other. */
        char *folder_end = strrchr(path, '/');
        snprintf(name, sizeof name, "%.*s/libcublasLt.so.%d",
                 (int)(folder_end ? folder_end - path : 0), path, major);
        lt = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
#define LOOK_UP(field, symbol, parameters) \
    if (!(blas.field = (int (*) parameters)dlsym(library, #symbol))) \
        missing = #symbol;
        BLAS_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
#define LOOK_UP(field, symbol, parameters) \
    if (!lt || !(blas.field = (int (*) parameters)dlsym(lt, #symbol))) \
        lt_whole = 0;
        LT_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    }
    event("library");
    text("path", path);
    text("missing", missing ? missing : "");
    close_event();
    blas.has_lt = lt_whole;
    return !library || missing;
}
