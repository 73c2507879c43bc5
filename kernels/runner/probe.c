/* What the loader of an image finds, and what its driver does. Linked dynamically against an old
 * glibc: a static program cannot load libcuda. Usage:
 *   probe loads NAME...         which file each library name gives, each tried in its own process
 *   probe cut NAME FOLDER       put the first half of that library, under its name, into FOLDER
 *   probe driver                which libcuda answers, and the CUDA version it serves
 *   probe COMMAND ...           see the source of that name; fault is in correct.c
 */
#include <stdio.h>
#include <string.h>

#include "probe.h"

static const struct {
    const char *name;
    int (*run)(char **arguments);
} COMMANDS[] = {
    {"loads", loads},
    {"smoke", smoke},
    {"fast", fast},
    {"correct", correct},
    {"fault", fault},
    {"launch", launch_once},
    {"holds", holds},
    {"peers", peers},
    {"reduce", reduce},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++) {
        if (argc >= 3 && !strcmp(argv[1], COMMANDS[i].name))
            return COMMANDS[i].run(argv + 2);
    }
    if (argc == 4 && !strcmp(argv[1], "cut"))
        return cut(argv[2], argv[3]);
    if (argc == 2 && !strcmp(argv[1], "driver"))
        return driver();
    fprintf(stderr, "probe: loads NAME... | cut NAME FOLDER | driver | COMMAND ...\n");
    return 2;
}
