/* What the loader of an image finds, and what its driver does. Linked dynamically against an old
 * glibc: a static program cannot load libcuda. Usage:
 *   probe loads NAME...         which file each library name gives, each tried in its own process
 *   probe cut NAME FOLDER       put the first half of that library, under its name, into FOLDER
 *   probe driver                which libcuda answers, and the CUDA version it serves
 *   probe smoke ...             smoke.c
 */
#include <stdio.h>
#include <string.h>

#include "probe.h"

int main(int argc, char **argv)
{
    if (argc >= 3 && !strcmp(argv[1], "loads"))
        return loads(argv + 2);
    if (argc == 4 && !strcmp(argv[1], "cut"))
        return cut(argv[2], argv[3]);
    if (argc == 2 && !strcmp(argv[1], "driver"))
        return driver();
    if (argc >= 3 && !strcmp(argv[1], "smoke"))
        return smoke(argv + 2);
    fprintf(stderr, "probe: loads NAME... | cut NAME FOLDER | driver | smoke ...\n");
    return 2;
}
