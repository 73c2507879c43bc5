/* What is in a file, by our own eyes.
 *
 * probe holds --nonce TEXT FILE NAME
 *
 * Says how long FILE is and how often the text envbuild_NAME_TEXT stands in it.
 */
#define _GNU_SOURCE
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "probe.h"

int holds(char **arguments)
{
    char name[128];
    struct stat s;
    if (!arguments[0] || strcmp(arguments[0], "--nonce") || !arguments[1] || !arguments[2] ||
        !arguments[3]) {
        fprintf(stderr, "probe holds: --nonce TEXT FILE NAME\n");
        return 2;
    }
    snprintf(name, sizeof name, "envbuild_%s_%s", arguments[3], arguments[1]);
    event("start");
    text("nonce", arguments[1]);
    close_event();
    char *bytes = stat(arguments[2], &s) || !S_ISREG(s.st_mode) ? NULL : read_file(arguments[2]);
    long long times = 0;
    if (bytes) {
        char *end = bytes + s.st_size;
        for (char *at = bytes; (at = memmem(at, (size_t)(end - at), name, strlen(name))); at++)
            times++;
    }
    event("holds");
    whole("bytes", bytes ? (long long)s.st_size : -1);
    whole("times", times);
    close_event();
    free(bytes);
    event("end");
    text("nonce", arguments[1]);
    close_event();
    return 0;
}
