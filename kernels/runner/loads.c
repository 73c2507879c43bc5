/* Which file a library name really gives: loaded, not looked for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "json.h"
#include "probe.h"

struct found {
    int version; /* what cudaRuntimeGetVersion says, 0 = no such function */
    char path[PATH_MAX];
    char error[512];
};

void loaded_path(void *handle, char *path, size_t size)
{
    struct link_map *map = NULL;
    char real[PATH_MAX];
    path[0] = 0;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) || !map || !map->l_name)
        return;
    snprintf(path, size, "%s", realpath(map->l_name, real) ? real : map->l_name);
}

static void load(const char *name, struct found *found)
{
    memset(found, 0, sizeof *found);
    void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) {
        snprintf(found->error, sizeof found->error, "%s", dlerror());
        return;
    }
    loaded_path(handle, found->path, sizeof found->path);
    int (*version)(int *) = (int (*)(int *))dlsym(handle, "cudaRuntimeGetVersion");
    if (version)
        version(&found->version);
}

/* In a process of its own: a broken library may crash whoever loads it. The signal, or 0. */
static int load_apart(const char *name, struct found *found)
{
    int fds[2], status = 0;
    memset(found, 0, sizeof *found);
    fflush(stdout);
    if (pipe(fds))
        return -1;
    pid_t pid = fork();
    if (pid < 0)
        return -1;
    if (!pid) {
        alarm(20);
        load(name, found);
        ssize_t n = write(fds[1], found, sizeof *found);
        _exit(n != sizeof *found);
    }
    close(fds[1]);
    size_t have = 0;
    ssize_t n;
    while (have < sizeof *found && (n = read(fds[0], (char *)found + have, sizeof *found - have)) > 0)
        have += (size_t)n;
    close(fds[0]);
    waitpid(pid, &status, 0);
    if (have == sizeof *found)
        return 0;
    memset(found, 0, sizeof *found);
    snprintf(found->error, sizeof found->error, "loading it ended the process");
    return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

int loads(char **names)
{
    struct found found;
    for (; *names; names++) {
        int sig = load_apart(*names, &found);
        printf("{\"event\":\"load\",");
        json_text("name", *names, strlen(*names));
        printf(",");
        json_text("path", found.path, strnlen(found.path, sizeof found.path));
        printf(",");
        json_text("error", found.error, strnlen(found.error, sizeof found.error));
        printf(",\"signal\":%d,\"version\":%d}\n", sig, found.version);
    }
    return 0;
}

int cut(const char *name, const char *folder)
{
    struct found found;
    struct stat s;
    char target[PATH_MAX], buffer[65536];
    if (load_apart(name, &found) || !found.path[0] || stat(found.path, &s)) {
        fprintf(stderr, "%s does not resolve: %s\n", name, found.error);
        return 1;
    }
    snprintf(target, sizeof target, "%s/%s", folder, name);
    int in = open(found.path, O_RDONLY), out = open(target, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (in < 0 || out < 0) {
        fprintf(stderr, "%s: %s\n", in < 0 ? found.path : target, strerror(errno));
        return 1;
    }
    for (off_t left = s.st_size / 2; left > 0;) {
        size_t want = left < (off_t)sizeof buffer ? (size_t)left : sizeof buffer;
        ssize_t n = read(in, buffer, want);
        if (n <= 0 || write(out, buffer, (size_t)n) != n) {
            fprintf(stderr, "%s: %s\n", target, strerror(errno));
            return 1;
        }
        left -= n;
    }
    printf("{\"event\":\"cut\",");
    json_text("path", target, strlen(target));
    printf(",\"bytes\":%lld}\n", (long long)(s.st_size / 2));
    return 0;
}
