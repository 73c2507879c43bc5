/* JSON text on stdout: one object a line, every byte of foreign text escaped. */
#ifndef ENVBUILD_JSON_H
#define ENVBUILD_JSON_H

#include <stddef.h>
#include <stdio.h>

/* Bytes outside printable ASCII become \u00XX: always valid JSON, whatever an image prints. */
static void json_text(const char *name, const char *bytes, size_t n)
{
    printf("\"%s\":\"", name);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20 || c > 0x7e)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

#endif
