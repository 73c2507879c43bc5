/* Is C = A * B, without computing it again? Random matrices, and their products with vectors in
 * f64 (Freivalds): C * x must be A * (B * x).
 */
#include "probe.h"

enum { VECTORS = 3 };

static __device__ unsigned mixed(unsigned long long i, unsigned seed)
{
    unsigned long long x = (i + 1) * 0x9e3779b97f4a7c15ull + seed * 0xd1342543de82ef95ull;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ull;
    return (unsigned)(x >> 32);
}

/* Multiples of 1/8 from -1 to 1: every format from 8 bits on has them. */
static __device__ int eighths(unsigned long long i, unsigned seed)
{
    return (int)(mixed(i, seed) % 17) - 8;
}

/* Between -1 and 1, with as many bits as a float has. */
static __device__ double real(unsigned long long i, unsigned seed)
{
    return (double)(int)mixed(i, seed) / 2147483648.0;
}

static __device__ void put(double *to, unsigned long long i, unsigned seed)
{
    *to = real(i, seed) + real(i, seed + 1) / 2147483648.0;
}

static __device__ void put(float *to, unsigned long long i, unsigned seed)
{
    *to = (float)real(i, seed);
}

struct half_bits {
    unsigned short bits;
};
struct brain_bits {
    unsigned short bits;
};
struct byte_bits {
    unsigned char bits;
};

static __device__ void put(half_bits *to, unsigned long long i, unsigned seed)
{
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to->bits) : "f"((float)real(i, seed)));
}

static __device__ void put(brain_bits *to, unsigned long long i, unsigned seed)
{
    unsigned bits = __float_as_uint((float)real(i, seed));
    to->bits = (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static __device__ void put(byte_bits *to, unsigned long long i, unsigned seed)
{
    const unsigned char e4m3[9] = {0, 0x20, 0x28, 0x2c, 0x30, 0x32, 0x34, 0x36, 0x38};
    int value = eighths(i, seed);
    to->bits = value < 0 ? 0x80 | e4m3[-value] : e4m3[value];
}

static __device__ double got(const double *from) { return *from; }
static __device__ double got(const float *from) { return *from; }
static __device__ double got(const brain_bits *from)
{
    return __uint_as_float((unsigned)from->bits << 16);
}
static __device__ double got(const half_bits *from)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(from->bits));
    return value;
}
static __device__ double got(const byte_bits *from)
{
    int exponent = from->bits >> 3 & 15, mantissa = from->bits & 7;
    double size = exponent ? (8 + mantissa) * (1 << exponent) / 1024.0 : mantissa / 512.0;
    return from->bits & 0x80 ? -size : size;
}

/* y = M * x for three x at once, one row a thread; strides in elements. */
template <typename T>
static __device__ void multiply(const T *m, unsigned long long row, unsigned long long column,
                                unsigned rows, unsigned columns, const double *x, double *y)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    double sum[VECTORS] = {0, 0, 0};
    if (i >= rows)
        return;
    SHORT for (unsigned j = 0; j < columns; j++) {
        double value = got(m + i * row + j * column);
        for (int v = 0; v < VECTORS; v++)
            sum[v] += value * x[j * VECTORS + v];
    }
    for (int v = 0; v < VECTORS; v++)
        y[i * VECTORS + v] = sum[v];
}

#define TYPE(name, type) \
    PROBE void NAMED(random_##name)(type *to, unsigned long long n, unsigned seed) \
    { \
        unsigned long long step = (unsigned long long)gridDim.x * blockDim.x; \
        SHORT for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) \
            put(to + i, i, seed); \
    } \
    PROBE void NAMED(multiply_##name)(const type *m, unsigned long long row, \
                                      unsigned long long column, unsigned rows, \
                                      unsigned columns, const double *x, double *y) \
    { \
        multiply(m, row, column, rows, columns, x, y); \
    }

TYPE(f64, double)
TYPE(f32, float)
TYPE(bf16, brain_bits)
#if __CUDA_ARCH__ >= 530
TYPE(f16, half_bits)
#endif
TYPE(f8, byte_bits)
