#include "numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int format_of(const char *text, struct format *f)
{
    memset(f, 0, sizeof *f);
    if (!strcmp(text, "s8") || !strcmp(text, "s32")) {
        f->whole = 1, f->size = atoi(text + 1) / 8;
        return 0;
    }
    if (sscanf(text, "e%dm%d", &f->exponent, &f->mantissa) != 2)
        return 1;
    int bits = 1 + f->exponent + f->mantissa;
    f->size = bits > 32 ? 8 : bits > 16 ? 4 : bits > 8 ? 2 : 1;
    /* A 4-bit number lies in the middle of its byte (see tensor4.cu). */
    f->shift = bits == 4 ? 2 : 0;
    return 0;
}

int number_of(char **words, struct number *n)
{
    for (int i = 0; i < 5; i++) {
        if (!words[i])
            return 1;
    }
    n->name = words[0];
    n->rounding = atoi(words[3]);
    n->summing = atoi(words[4]);
    return format_of(words[1], &n->in) || format_of(words[2], &n->out);
}

static int bias(const struct format *f)
{
    return (1 << (f->exponent - 1)) - 1;
}

uint64_t encode(const struct format *f, double *value)
{
    if (f->whole)
        return (uint64_t)(int64_t)*value;
    int e;
    frexp(*value, &e);
    /* No lower than the exponent of the smallest normal number. */
    e = *value == 0 || e - 1 < 1 - bias(f) ? 1 - bias(f) : e - 1;
    double unit = ldexp(1, e - f->mantissa), exact = fabs(*value) / unit;
    /* Halfway goes to the even neighbour. */
    uint64_t steps = (uint64_t)exact;
    double rest = exact - (double)steps;
    steps += rest > 0.5 || (rest == 0.5 && steps % 2);
    uint64_t bits = ((uint64_t)(e + bias(f) - 1) << f->mantissa) + steps;
    uint64_t sign = *value < 0 ? (uint64_t)1 << (f->exponent + f->mantissa) : 0;
    *value = (double)steps * (*value < 0 ? -unit : unit);
    return (sign | bits) << f->shift;
}

double decode(const struct format *f, uint64_t bits)
{
    if (f->whole)
        return (double)(f->size == 1 ? (int8_t)bits : (int32_t)bits);
    bits >>= f->shift;
    uint64_t mantissa = bits & (((uint64_t)1 << f->mantissa) - 1);
    int field = (int)(bits >> f->mantissa) & ((1 << f->exponent) - 1);
    double sign = bits >> (f->exponent + f->mantissa) & 1 ? -1 : 1;
    /* Results come in formats whose largest exponent field means infinity or no number. */
    if (field == (1 << f->exponent) - 1 && f->exponent >= 5)
        return mantissa ? NAN : sign * INFINITY;
    double whole = (double)(mantissa + ((uint64_t)(field > 0) << f->mantissa));
    return sign * ldexp(whole, (field ? field : 1) - bias(f) - f->mantissa);
}

/* Equal in every run: a failure can be looked at again. */
static uint32_t random_bits(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Between 1 and 1.25, in the last quarter before the next number of the type that it is rounded to:
 * to cut it off is more wrong than the bound, to round it is not. `i` gives both operands of a
 * product one sign, so that the errors of a sum add up. */
static double rounded_up(const struct number *n, int i, uint64_t *state)
{
    int kept = -n->rounding - 1, rest = n->in.mantissa - kept;
    uint32_t steps = random_bits(state) % (1u << (kept - 2));
    uint32_t tail = (3u << (rest - 2)) + random_bits(state) % (1u << (rest - 2));
    double value = 1 + ldexp(steps, -kept) + ldexp(tail, -n->in.mantissa);
    return i % 2 ? -value : value;
}

static double operand(const struct number *n, int reals, int i, uint64_t *state)
{
    if (!reals)
        return (double)(random_bits(state) % 7) - 3;
    if (n->in.whole)
        return (double)(random_bits(state) % 256) - 128;
    if (n->rounding)
        return rounded_up(n, i, state);
    /* 53 random bits between -2 and 2, then the nearest number of the format. */
    double value = (double)random_bits(state) + ldexp(random_bits(state), -31);
    value = ldexp(value, -29) - 2;
    encode(&n->in, &value);
    return value;
}

void operands(const struct number *n, int reals, struct product *p)
{
    uint64_t state = 20261202;
    for (int i = 0; i < ROWS * DEPTH; i++)
        p->a[i] = operand(n, reals, i, &state);
    for (int i = 0; i < COLUMNS * DEPTH; i++)
        p->b[i] = operand(n, reals, i, &state);
}

void multiply(struct product *p)
{
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++) {
            /* Wider than a double, whose own products are judged by this. */
            long double c = 0, sum = 0;
            for (int i = 0; i < DEPTH; i++) {
                long double one = (long double)p->a[row * DEPTH + i] * p->b[column * DEPTH + i];
                c += one;
                sum += one < 0 ? -one : one;
            }
            p->c[row * COLUMNS + column] = (double)c;
            p->sum[row * COLUMNS + column] = (double)sum;
        }
    }
}

double bound(int rounding, int summing)
{
    double share = (rounding ? ldexp(2, rounding) : 0) + (summing ? ldexp(DEPTH, summing) : 0);
    return share / (1 - share);
}

struct difference compare_product(const struct number *n, const struct product *p,
                                  const void *result, double bound)
{
    struct difference d = {.first = -1};
    const unsigned char *at = result;
    for (int i = 0; i < ROWS * COLUMNS; i++, at += n->out.size) {
        uint64_t bits = 0;
        memcpy(&bits, at, (size_t)n->out.size); /* both architectures are little-endian */
        double error = fabs(decode(&n->out, bits) - p->c[i]), sum = p->sum[i];
        d.compared++;
        d.unreal += !isfinite(error);
        /* Written so that what is no number is wrong. */
        if (!(error <= bound * sum) && !d.wrong++)
            d.first = i;
        if (sum > 0 && isfinite(error)) {
            d.error = error / sum > d.error ? error / sum : d.error;
            d.worst = bound > 0 ? d.error / bound : 0;
        }
    }
    return d;
}
