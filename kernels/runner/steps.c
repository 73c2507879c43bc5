/* Runs a list of commands inside an image, one after the other, and says how each ended.
 *
 * Linked statically: it starts in every image of its architecture, one without a shell or with
 * another C library too. Usage: steps FILE
 *
 * FILE holds, each ended by a NUL byte, for every step: its name, a limit in milliseconds, the
 * number of variables, the variables, the number of arguments, the arguments. A variable
 * "NAME=text" is set; "+NAME=text" is put in front of what the image has, with a colon.
 * Commands of our own: "@which NAME..." (where on PATH), "@read PATH" (the file's bytes).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "json.h"

enum { KEEP = 256 << 10, HALF = KEEP / 2, MANY = 256 };

struct stream {
    int fd;
    size_t used;
    int cut;
    char text[KEEP];
};

static struct stream out, err;
static char *next, *end;

static long long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static char *token(void)
{
    char *start = next;
    if (next >= end) {
        fprintf(stderr, "steps: the list ends too early\n");
        exit(2);
    }
    next += strlen(next) + 1;
    return start;
}

static int tokens(char **into)
{
    int n = atoi(token());
    if (n < 0 || n >= MANY) {
        fprintf(stderr, "steps: a list of %d entries\n", n);
        exit(2);
    }
    for (int i = 0; i < n; i++)
        into[i] = token();
    into[n] = NULL;
    return n;
}

static void set(char *variable)
{
    int front = variable[0] == '+';
    char *name = variable + front, *equals = strchr(name, '=');
    if (!equals)
        return;
    *equals = 0;
    const char *old = front ? getenv(name) : NULL;
    if (old && *old) {
        char *both = malloc(strlen(equals + 1) + strlen(old) + 2);
        if (!both)
            _exit(126);
        sprintf(both, "%s:%s", equals + 1, old);
        setenv(name, both, 1);
    } else {
        setenv(name, equals + 1, 1);
    }
    *equals = '=';
}

static void which(const char *name)
{
    const char *path = getenv("PATH");
    for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
        size_t n = strcspn(p, ":");
        char file[4096];
        struct stat s;
        snprintf(file, sizeof file, "%.*s/%s", (int)n, p, name);
        if (!stat(file, &s) && S_ISREG(s.st_mode) && !access(file, X_OK)) {
            printf("%s %s\n", name, file);
            return;
        }
        p += n + (p[n] == ':');
    }
}

static int own_command(char **argv)
{
    if (!strcmp(argv[0], "@which")) {
        for (char **name = argv + 1; *name; name++)
            which(*name);
        return 0;
    }
    if (!strcmp(argv[0], "@read") && argv[1]) {
        char buffer[4096];
        int fd = open(argv[1], O_RDONLY | O_NONBLOCK);
        ssize_t n;
        if (fd < 0) {
            fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
            return 1;
        }
        while ((n = read(fd, buffer, sizeof buffer)) > 0)
            fwrite(buffer, 1, (size_t)n, stdout);
        return n < 0;
    }
    fprintf(stderr, "%s is no command of this runner\n", argv[0]);
    return 2;
}

static void child(char **variables, char **argv, int out_fd, int err_fd)
{
    setpgid(0, 0);
    int null = open("/dev/null", O_RDONLY);
    if (null >= 0)
        dup2(null, 0);
    else
        close(0); /* an image without /dev/null: no input all the same */
    dup2(out_fd, 1);
    dup2(err_fd, 2);
    for (char **v = variables; *v; v++)
        set(*v);
    if (argv[0][0] == '@') {
        int rc = own_command(argv);
        fflush(stdout);
        _exit(rc);
    }
    execvp(argv[0], argv);
    dprintf(2, "%s cannot be started: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* One read. The first and the last 128 KiB are kept: a flood costs time and no memory. */
static void take(struct stream *s)
{
    size_t room = KEEP - s->used;
    if (room < 4096) {
        size_t over = 4096 - room;
        memmove(s->text + HALF, s->text + HALF + over, KEEP - HALF - over - room);
        s->used -= over;
        s->cut = 1;
    }
    ssize_t n = read(s->fd, s->text + s->used, KEEP - s->used);
    if (n > 0) {
        s->used += (size_t)n;
    } else if (n == 0 || errno != EINTR) {
        close(s->fd);
        s->fd = -1;
    }
}

static void step(void)
{
    char *variables[MANY], *argv[MANY];
    char *name = token();
    long long limit = atoll(token());
    tokens(variables);
    int argc = tokens(argv);
    int o[2], e[2], status = 0, timed_out = 0, ended = 0;
    if (!argc || pipe2(o, O_CLOEXEC) || pipe2(e, O_CLOEXEC))
        exit(2);
    long long start = now_ms();
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0)
        exit(2);
    if (!pid)
        child(variables, argv, o[1], e[1]);
    setpgid(pid, pid);
    close(o[1]);
    close(e[1]);
    out.fd = o[0], out.used = 0, out.cut = 0;
    err.fd = e[0], err.used = 0, err.cut = 0;
    /* A child of the step that keeps the pipes open is waited for no longer than the limit. */
    while (out.fd >= 0 || err.fd >= 0 || !ended) {
        struct pollfd fds[2] = {{out.fd, POLLIN, 0}, {err.fd, POLLIN, 0}};
        poll(fds, 2, 20);
        if (fds[0].revents)
            take(&out);
        if (fds[1].revents)
            take(&err);
        if (!ended && waitpid(pid, &status, WNOHANG) == pid)
            ended = 1;
        if (now_ms() - start > limit) {
            timed_out = 1;
            break;
        }
    }
    kill(-pid, SIGKILL);
    if (!ended)
        waitpid(pid, &status, 0);
    if (out.fd >= 0)
        close(out.fd);
    if (err.fd >= 0)
        close(err.fd);
    printf("{");
    json_text("step", name, strlen(name));
    printf(",\"rc\":%d,\"signal\":%d,\"timed_out\":%s,\"ms\":%lld,\"cut\":%s,",
           WIFEXITED(status) ? WEXITSTATUS(status) : -1,
           WIFSIGNALED(status) ? WTERMSIG(status) : 0, timed_out ? "true" : "false",
           now_ms() - start, out.cut || err.cut ? "true" : "false");
    json_text("out", out.text, out.used);
    printf(",");
    json_text("err", err.text, err.used);
    printf("}\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct stat s;
    /* What it runs may neither trace it nor open its output through /proc. */
    prctl(PR_SET_DUMPABLE, 0);
    int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &s)) {
        fprintf(stderr, "steps: %s\n", argc == 2 ? strerror(errno) : "usage: steps FILE");
        return 2;
    }
    char *list = malloc((size_t)s.st_size + 1);
    if (!list || read(fd, list, (size_t)s.st_size) != s.st_size)
        return 2;
    list[s.st_size] = 0;
    for (next = list, end = list + s.st_size; next < end;)
        step();
    return 0;
}
