/* The GPU's arithmetic against this machine's, its atomics, its answers to launches that are wrong.
 *
 * probe correct --nonce TEXT [--uuid UUID] [--run SUFFIX] WORK...
 *   --code FILE                                 the module that what follows is in
 *   --number NAME IN OUT ROUNDING SUMMING       products in a number format (numbers.h)
 *   --atomics, --launches
 * probe fault --nonce TEXT [--uuid UUID] [--run SUFFIX] --code FILE
 *
 * Every part is also made to fail on purpose; those events are called "control".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"
#include "probe.h"
#include "session.h"

enum { THREADS = 32, PAD = 32, MANY = 256 };

static const char *run = "";

static void *entry(void *module, const char *name)
{
    char full[MANY];
    snprintf(full, sizeof full, "envbuild_%s%s%s", name, *run ? "_" : "", run);
    return kernel_of(module, full);
}

static void small(const char *name, double value)
{
    printf(",\"%s\":%.3e", name, value);
}

static void differs(const char *kind, const char *name, const char *which, struct difference d,
                    long long expected)
{
    event(kind);
    text("name", name);
    text("which", which);
    whole("compared", d.compared);
    whole("wrong", d.wrong);
    whole("unreal", d.unreal);
    whole("first", d.first);
    whole("expected", expected);
    small("worst", d.worst);
    small("error", d.error);
    close_event();
}

/* ---- products ------------------------------------------------------------------------------ */

/* Operands, result and kernel of one number format on the device. */
struct bench {
    const struct number *number;
    void *kernel;
    device_pointer a, b, c;
    size_t a_bytes, b_bytes, c_bytes;
    unsigned row, stride; /* bytes of numbers, and with what is between two rows */
    unsigned char *bytes; /* room for the largest of the three */
};

static struct product product;

/* What lies between rows is no number in any format. */
static int put(struct bench *s, double *rows, int count, device_pointer to, size_t bytes)
{
    memset(s->bytes, 0xff, bytes);
    for (int row = 0; row < count; row++) {
        for (int i = 0; i < DEPTH; i++) {
            uint64_t bits = encode(&s->number->in, &rows[row * DEPTH + i]);
            memcpy(s->bytes + (size_t)row * s->stride + i * s->number->in.size, &bits,
                   (size_t)s->number->in.size);
        }
    }
    return CHECK(to_device, (to, s->bytes, bytes));
}

static int put_operands(struct bench *s, int reals)
{
    operands(s->number, reals, &product);
    multiply(&product);
    return put(s, product.a, ROWS, s->a, s->a_bytes) ||
           put(s, product.b, COLUMNS, s->b, s->b_bytes);
}

/* Clears the result and makes it anew, or not; then brings it here. */
static int make(struct bench *s, int launched, unsigned stride)
{
    unsigned k = s->row, n = COLUMNS;
    void *arguments[] = {&s->a, &s->b, &s->c, &k, &s->stride, &stride, &n};
    if (CHECK(fill, (s->c, 0, s->c_bytes / 4)) || CHECK(synchronize, ()))
        return 1;
    if (launched && (CHECK(launch, (s->kernel, COLUMNS / 8, ROWS / 16, 1, THREADS, 1, 1, 0, NULL,
                                    arguments, NULL)) ||
                     CHECK(synchronize, ())))
        return 1;
    return CHECK(to_host, (s->bytes, s->c, s->c_bytes));
}

static struct difference compared(const struct bench *s, double limit)
{
    return compare_product(s->number, &product, s->bytes, limit);
}

/* Three wrong elements: no number, an infinity (whole numbers: the largest), one bit. */
static void plant(struct bench *s)
{
    const struct format *f = &s->number->out;
    size_t size = (size_t)f->size;
    uint64_t none = ((uint64_t)1 << (8 * size - 1)) - 1, infinity = none >> f->mantissa << f->mantissa;
    memcpy(s->bytes, &none, size);
    memcpy(s->bytes + size, &infinity, size);
    s->bytes[s->c_bytes / 2] ^= 1;
}

/* Integers are exact in every format: here one wrong bit is found, and controls know its place. */
static int integers(struct bench *s)
{
    const char *name = s->number->name;
    if (put_operands(s, 0) || make(s, 1, s->stride))
        return 1;
    differs("number", name, "integers", compared(s, 0), 0);

    plant(s);
    differs("control", name, "planted", compared(s, 0), 3);

    if (make(s, 0, s->stride))
        return 1;
    differs("control", name, "zeros", compared(s, 0), 0);

    if (make(s, 1, s->stride + PAD))
        return 1;
    differs("control", name, "stride", compared(s, 0), 0);

    /* Another number in A: as many results change as B has in its way that are not zero. */
    long long expected = 0;
    double *one = &product.a[ROWS / 2 * DEPTH + DEPTH / 3], other = *one == 1 ? 2 : 1;
    uint64_t bits = encode(&s->number->in, &other);
    size_t size = (size_t)s->number->in.size;
    device_pointer at = s->a + (size_t)(ROWS / 2) * s->stride + DEPTH / 3 * size;
    for (int column = 0; column < COLUMNS; column++)
        expected += product.b[column * DEPTH + DEPTH / 3] != 0;
    if (CHECK(to_device, (at, &bits, size)) || make(s, 1, s->stride))
        return 1;
    differs("control", name, "operand", compared(s, 0), expected);
    return 0;
}

/* Reals are rounded: as much as the format says, and, where it rounds its operands, no less. */
static int reals(struct bench *s)
{
    const struct number *n = s->number;
    if (put_operands(s, 1) || make(s, 1, s->stride))
        return 1;
    differs("number", n->name, "reals", compared(s, bound(n->rounding, n->summing)), 0);
    if (n->rounding)
        differs("control", n->name, "narrow", compared(s, bound(0, -n->in.mantissa - 1)), 0);
    return 0;
}

static int numbers(void *module, const struct number *n)
{
    struct bench s = {.number = n, .row = (unsigned)(DEPTH * n->in.size)};
    s.stride = s.row + PAD;
    /* The wrong stride stays inside. */
    s.a_bytes = (size_t)ROWS * (s.stride + PAD);
    s.b_bytes = (size_t)COLUMNS * (s.stride + PAD);
    s.c_bytes = (size_t)(ROWS * COLUMNS * n->out.size);
    s.bytes = malloc(s.a_bytes > s.c_bytes ? s.a_bytes : s.c_bytes);
    event("trying");
    text("name", n->name);
    close_event();
    int bad = !s.bytes || !(s.kernel = entry(module, n->name)) ||
              CHECK(allocate, (&s.a, s.a_bytes)) || CHECK(allocate, (&s.b, s.b_bytes)) ||
              CHECK(allocate, (&s.c, s.c_bytes)) || integers(&s) || reals(&s);
    device_pointer all[] = {s.a, s.b, s.c};
    for (int i = 0; i < 3; i++) {
        if (all[i] && CHECK(release, (all[i])))
            bad = 1;
    }
    free(s.bytes);
    return bad;
}

/* ---- atomics ------------------------------------------------------------------------------- */

enum { BLOCKS = 512, BLOCK = 512, COUNTERS = 257, WAYS = 5 };
static const char *const WAY[WAYS] = {"global i32", "global f32", "shared i32", "shared f32", "plain"};

/* What one counter must hold: all threads count in the first, every 256th in each of the others. */
static long long counted(int counter)
{
    long long each = 0;
    for (int thread = 0; thread < BLOCK; thread++) {
        if (!counter || thread % (COUNTERS - 1) == counter - 1)
            each += thread % 32 + 1;
    }
    return each * BLOCKS;
}

static struct difference count(const int *words, int way)
{
    struct difference d = {.first = -1};
    for (int i = 0; i < COUNTERS; i++, d.compared++) {
        float real;
        memcpy(&real, words + i, sizeof real);
        int is_real = way == 1 || way == 3;
        d.unreal += is_real && !(real - real == 0);
        /* All sums are below 2^24: exact in a float. */
        int right = is_real ? real == (float)counted(i) : words[i] == counted(i);
        if (!right && !d.wrong++)
            d.first = i;
    }
    return d;
}

static int atomics(void *module)
{
    static int words[WAYS * COUNTERS];
    device_pointer p = 0;
    void *kernel = entry(module, "atomics"), *arguments[] = {&p};
    if (!kernel || CHECK(allocate, (&p, sizeof words)))
        return 1;
    int bad = CHECK(fill, (p, 0, WAYS * COUNTERS)) || launch(kernel, BLOCKS, BLOCK, NULL, arguments) ||
              CHECK(synchronize, ()) || CHECK(to_host, (words, p, sizeof words));
    for (int way = 0; !bad && way < WAYS; way++)
        differs(way < WAYS - 1 ? "atomics" : "control", "atomics", WAY[way],
                count(words + way * COUNTERS, way), 0);
    return CHECK(release, (p)) || bad;
}

/* ---- launches ------------------------------------------------------------------------------ */

static void answered(const char *which, int answer)
{
    event("launch");
    text("which", which);
    whole("answer", answer);
    close_event();
}

/* Stores `value` at `to` and says how that was answered, by the launch or after it. */
static int store(void *kernel, device_pointer to, unsigned value)
{
    void *arguments[] = {&to, &value};
    int answer = cu.launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL);
    return answer ? answer : cu.synchronize();
}

/* A good launch, and what it stored. */
static int good(void *kernel, device_pointer p, unsigned value)
{
    unsigned found = 0;
    int answer = store(kernel, p, value);
    if (CHECK(to_host, (&found, p, sizeof found)))
        return 1;
    event("launch");
    text("which", "good");
    whole("answer", answer);
    whole("right", found == value);
    close_event();
    return 0;
}

static int launches(void *module)
{
    static const struct {
        const char *which;
        unsigned blocks, threads, shared;
    } WRONG[] = {{"4096 threads a block", 1, 4096, 0},
                 {"no thread", 1, 0, 0},
                 {"no block", 0, 32, 0},
                 {"1 GiB of shared memory", 1, 32, 1u << 30}};
    device_pointer p = 0;
    unsigned value = 0;
    void *kernel = entry(module, "store"), *arguments[] = {&p, &value};
    if (!kernel || CHECK(allocate, (&p, sizeof value)) || good(kernel, p, 1))
        return 1;
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++)
        answered(WRONG[i].which, cu.launch(kernel, WRONG[i].blocks, 1, 1, WRONG[i].threads, 1, 1,
                                           WRONG[i].shared, NULL, arguments, NULL));
    return CHECK(synchronize, ()) || good(kernel, p, 2) || CHECK(release, (p));
}

/* ---- commands ------------------------------------------------------------------------------ */

static void begin(const char *nonce)
{
    event("start");
    text("nonce", nonce);
    close_event();
}

static void end(const char *nonce, int bad)
{
    event("end");
    text("nonce", nonce);
    whole("calls", calls);
    whole("bad", bad);
    close_event();
}

/* Takes the options that both commands have; the words used, 0 = none of them. */
static int common(char **a, const char **nonce, const char **uuid)
{
    const char **to = !strcmp(*a, "--nonce") ? nonce : !strcmp(*a, "--uuid") ? uuid :
                      !strcmp(*a, "--run") ? &run : NULL;
    if (!to || !a[1])
        return 0;
    *to = a[1];
    return 2;
}

int correct(char **arguments)
{
    const char *nonce = "", *uuid = NULL;
    struct device device;
    struct number number;
    void *module = NULL;
    char **a = arguments;
    for (int used; *a && (used = common(a, &nonce, &uuid)); a += used)
        ;
    begin(nonce);
    if (open_driver() || open_device(uuid, &device))
        return 0;
    int bad = 0;
    while (*a && !bad) {
        if (!strcmp(*a, "--code") && a[1])
            bad = !(module = load_module(a[1])), a += 2;
        else if (!strcmp(*a, "--number") && module && !number_of(a + 1, &number))
            bad = numbers(module, &number), a += 6;
        else if (!strcmp(*a, "--atomics") && module)
            bad = atomics(module), a++;
        else if (!strcmp(*a, "--launches") && module)
            bad = launches(module), a++;
        else {
            fprintf(stderr, "probe correct: %s is not understood\n", *a);
            return 2;
        }
    }
    end(nonce, bad);
    return 0;
}

int fault(char **arguments)
{
    const char *nonce = "", *uuid = NULL, *code = "";
    struct device device;
    device_pointer p = 0;
    void *module, *kernel;
    char **a = arguments;
    for (int used; *a && (used = common(a, &nonce, &uuid)); a += used)
        ;
    if (!*a || strcmp(*a, "--code") || !(code = a[1])) {
        fprintf(stderr, "probe fault: --code FILE is missing\n");
        return 2;
    }
    begin(nonce);
    if (open_driver() || open_device(uuid, &device))
        return 0;
    int bad = !(module = load_module(code)) || !(kernel = entry(module, "store")) ||
              CHECK(allocate, (&p, 4)) || good(kernel, p, 1);
    /* The first page is mapped nowhere; after this the context is lost, and with it the process. */
    if (!bad)
        answered("address 0", store(kernel, 0, 1));
    end(nonce, bad);
    return 0;
}
