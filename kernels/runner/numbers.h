/* Number formats of the GPU, and products of matrices in them compared with the CPU's. */
#ifndef ENVBUILD_NUMBERS_H
#define ENVBUILD_NUMBERS_H

#include <stdint.h>

/* Sizes of the product: every block makes 16 x 8 elements, and no device has more SMs. */
enum { ROWS = 256, COLUMNS = 128, DEPTH = 64 };

/* Whole numbers of `size` bytes, or a sign, an exponent and a mantissa, `shift` bits up in them. */
struct format {
    int size, whole, exponent, mantissa, shift;
};

struct number {
    const char *name;           /* the kernel is envbuild_NAME */
    struct format in, out;
    int rounding, summing;      /* errors at most 2^rounding an operand, 2^summing a term; 0 = none */
};

/* Reads e5m10, s8 or s32; 0 = understood. */
int format_of(const char *text, struct format *format);
/* Reads NAME IN OUT ROUNDING SUMMING; 0 = understood. */
int number_of(char **words, struct number *number);

/* Operands and what their product must be, in this machine's arithmetic. */
struct product {
    double a[ROWS * DEPTH], b[COLUMNS * DEPTH];         /* B by columns */
    double c[ROWS * COLUMNS], sum[ROWS * COLUMNS]; /* A * B, |A| * |B| */
};

/* How a result differs from it. worst: largest error by its bound; error: by `sum`. */
struct difference {
    long long compared, wrong, unreal, first;
    double worst, error;
};

/* The bytes of `value`, which becomes what they hold: the nearest number of the format. */
uint64_t encode(const struct format *format, double *value);
double decode(const struct format *format, uint64_t bits);

/* Fills the operands: small integers, whose products are exact in every format, or reals. */
void operands(const struct number *number, int reals, struct product *product);
void multiply(struct product *product);
double bound(int rounding, int summing);
struct difference compare_product(const struct number *number, const struct product *product,
                                  const void *result, double bound);

#endif
