/* Suite `correct` on the CPU: products in every format, atomics, a store. Made for tests.
 *
 * Products are carried out in doubles and rounded as the formats say. ENVBUILD_FAKE:
 *   off         one bit of one product of whole numbers is wrong; off-image: only in the image's code
 *   nan, inf    one element of every product is that
 *   coarse      results keep one bit below 1           exact-tf32  tf32 does not round its operands
 *   strideless  strides are not looked at
 *   lost        atomics lose one addition      lossless    plain additions lose none
 *   mild        a store to address 0 is taken
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../kernels/runner/numbers.h"
#include "fake_correct.h"
#include "fake_fast.h"

enum { COUNTERS = 257, WAYS = 5, PRODUCTS = 14, ATOMICS = PRODUCTS, STORE, KINDS };

static const char *const KERNELS[PRODUCTS][3] = {
    {"plain_f64", "e11m52", "e11m52"}, {"plain_f32", "e8m23", "e8m23"},
    {"plain_f16", "e5m10", "e5m10"},   {"plain_s8", "s8", "s32"},
    {"tensor_f64", "e11m52", "e11m52"}, {"tensor_tf32", "e8m23", "e8m23"},
    {"tensor_f16", "e5m10", "e8m23"},  {"tensor_bf16", "e8m7", "e8m23"},
    {"tensor_s8", "s8", "s32"},        {"tensor_e4m3", "e4m3", "e8m23"},
    {"tensor_e5m2", "e5m2", "e8m23"},  {"tensor_e2m3", "e2m3", "e8m23"},
    {"tensor_e3m2", "e3m2", "e8m23"},  {"tensor_e2m1", "e2m1", "e8m23"},
};

static struct function {
    int kind, image;
} functions[KINDS][2];
static int faulted;

void *correct_function(const char *name, int image)
{
    static const char PREFIX[] = "envbuild_";
    if (strncmp(name, PREFIX, sizeof PREFIX - 1))
        return NULL;
    name += sizeof PREFIX - 1;
    for (int i = 0; i < KINDS; i++) {
        const char *known = i == ATOMICS ? "atomics" : i == STORE ? "store" : KERNELS[i][0];
        size_t n = strlen(known);
        if (strncmp(name, known, n) || (image ? name[n] != '_' : name[n]))
            continue;
        functions[i][image] = (struct function){i, image};
        return &functions[i][image];
    }
    return NULL;
}

static double element(const struct format *f, const unsigned char *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)f->size);
    return decode(f, bits);
}

static double tf32(double value)
{
    struct format f;
    format_of("e8m10", &f);
    encode(&f, &value);
    return value;
}

static void spoil(const struct format *out, unsigned char *c, int image)
{
    uint64_t none = ((uint64_t)1 << (8 * out->size - 1)) - 1;
    if (fake_is("nan"))
        memcpy(c + out->size, &none, (size_t)out->size);
    none = none >> out->mantissa << out->mantissa;
    if (fake_is("inf"))
        memcpy(c + 2 * out->size, &none, (size_t)out->size);
    if (fake_is("off") || (image && fake_is("off-image")))
        c[3 * out->size] ^= 1;
}

/* As numerics.cu has it; the grid says how many rows and columns there are, ROWS and COLUMNS at
 * most. */
static void product(const struct function *f, unsigned bx, unsigned by, void **arguments)
{
    const unsigned char *a = *(void **)arguments[0], *b = *(void **)arguments[1];
    unsigned char *c = *(void **)arguments[2];
    unsigned k = *(unsigned *)arguments[3], stride_a = *(unsigned *)arguments[4];
    unsigned stride_b = *(unsigned *)arguments[5], n = *(unsigned *)arguments[6];
    struct format in, out;
    format_of(KERNELS[f->kind][1], &in);
    format_of(KERNELS[f->kind][2], &out);
    int rounds = !strcmp(KERNELS[f->kind][0], "tensor_tf32") && !fake_is("exact-tf32");
    int each = !strcmp(KERNELS[f->kind][0], "plain_f16");
    static double x[ROWS][DEPTH], y[COLUMNS][DEPTH];
    unsigned depth = k / (unsigned)in.size;
    if (fake_is("strideless"))
        stride_b = stride_a;
    for (unsigned i = 0; i < depth; i++) {
        for (unsigned row = 0; row < by * 16; row++) {
            x[row][i] = element(&in, a + (size_t)row * stride_a + i * (unsigned)in.size);
            x[row][i] = rounds ? tf32(x[row][i]) : x[row][i];
        }
        for (unsigned column = 0; column < bx * 8; column++) {
            y[column][i] = element(&in, b + (size_t)column * stride_b + i * (unsigned)in.size);
            y[column][i] = rounds ? tf32(y[column][i]) : y[column][i];
        }
    }
    for (unsigned row = 0; row < by * 16; row++) {
        for (unsigned column = 0; column < bx * 8; column++) {
            long double sum = 0;
            for (unsigned i = 0; i < depth; i++) {
                sum += (long double)x[row][i] * y[column][i];
                double now = (double)sum;
                if (each && isfinite(now)) {
                    encode(&out, &now);
                    sum = now;
                }
            }
            double value = (double)sum;
            if (fake_is("coarse") && value != (double)(int)value)
                value = ldexp(rint(ldexp(value, 1)), -1);
            uint64_t bits = 0;
            if (isfinite(value))
                bits = encode(&out, &value);
            else
                memset(&bits, 0x7f, sizeof bits);
            memcpy(c + ((size_t)row * n + column) * (size_t)out.size, &bits, (size_t)out.size);
        }
    }
    spoil(&out, c, f->image);
}

static void atomics(void **arguments)
{
    int *words = *(int **)arguments[0];
    for (int way = 0; way < WAYS; way++) {
        for (int i = 0; i < COUNTERS; i++) {
            int count = 0, *word = words + way * COUNTERS + i;
            for (int thread = 0; thread < 512; thread++)
                count += !i || thread % 256 == i - 1 ? thread % 32 + 1 : 0;
            count *= 512;
            if (way == WAYS - 1 && !fake_is("lossless"))
                count = 1;
            if (way == 2 && i == 7 && fake_is("lost"))
                count--;
            float real = (float)count;
            memcpy(word, way == 1 || way == 3 ? (void *)&real : (void *)&count, sizeof count);
        }
    }
}

int correct_launch(void *function, unsigned bx, unsigned by, void **arguments)
{
    struct function *f = function;
    if (f < functions[0] || f >= functions[0] + 2 * KINDS)
        return -1;
    if (f->kind < PRODUCTS)
        product(f, bx, by, arguments);
    else if (f->kind == ATOMICS)
        atomics(arguments);
    else if (*(void **)arguments[0])
        **(unsigned **)arguments[0] = *(unsigned *)arguments[1];
    else
        faulted = !fake_is("mild");
    return 0;
}

int correct_fault(void)
{
    return faulted ? 700 : 0;
}
