/* Measuring on the device: cycles of the SMs, the device's own time, and events, side by side. */
#ifndef ENVBUILD_MEASURE_H
#define ENVBUILD_MEASURE_H

#include "session.h"

enum { MANY_SAMPLES = 61, FEW_SAMPLES = 7 };

/* Something to be timed. `run` queues it once on the bench's stream; nonzero = that failed.
 * Its rounds are set by `size`: it lasts in proportion to them. */
struct work {
    const char *name; /* of the figure */
    int (*run)(struct work *work);
    unsigned rounds;
    double per_round; /* operations or bytes of one round */
    void *state;
};

struct bench {
    const struct device *device;
    void *stream;
    void *stamp, *spin, *nothing; /* kernels of clock.cu */
    device_pointer stamps, spare; /* spare: 64 bytes for whoever needs a few words */
    void *start, *end;
};

/* Loads clock.fatbin from a folder and makes what timing needs; 0 = done. */
int open_bench(struct bench *bench, const struct device *device, const char *folder);
void close_bench(struct bench *bench);

struct sample {
    double us, ns, cycles; /* by events, by the device's time, by the SMs' counters */
    int sms;               /* how many SMs were read */
};

/* Runs the work once between two stamps, with the queue filled before the device starts. */
int sample(struct bench *bench, struct work *work, struct sample *into);

/* Sets the rounds so that one run takes `ms` milliseconds, after shots that begin with one round.
 * No kernel of ours takes more than 50 ms, whatever the device. */
int size(struct bench *bench, struct work *work, double ms, unsigned most);

/* Runs it for 0.3 s and until five clocks in a row agree within 1 %, for 2 s at most. */
int warm(struct bench *bench, struct work *work);

/* Takes samples until the 95 % interval of the median is below 1 % wide, `most` at most, and prints
 * them as one event; `blocks` only says how the work was laid out. The state of the device is read
 * while one of them runs. */
int measure(struct bench *bench, struct work *work, int most, unsigned blocks);

/* Times `ours` and `image`, which do the same, in the order A B B A, and prints both times of each
 * such four: sums over the two runs. */
int compare_pair(struct bench *bench, struct work *ours, struct work *image, int fours);

/* A figure that the host's clock gave, in microseconds. */
void report_times(const char *name, const double *us, int n, double each);

#endif
