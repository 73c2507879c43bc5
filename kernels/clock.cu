/* The clocks of the SMs, read around whatever is measured; a spin that lasts; nothing at all. */
#include "probe.h"

enum { STAMPS = 1024 };

static __device__ unsigned long long nanoseconds()
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return now;
}

/* Each SM that gets a block writes its own cycle counter and the time: two numbers an SM. */
PROBE void envbuild_stamp(unsigned long long *stamps)
{
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (threadIdx.x || sm >= STAMPS)
        return;
    stamps[2 * sm + 1] = nanoseconds();
    stamps[2 * sm] = (unsigned long long)clock64();
}

/* One thread lasts that many cycles, and says when it began and ended: cycles and time of both. */
PROBE void envbuild_spin(unsigned long long cycles, unsigned long long *ends)
{
    unsigned long long time = nanoseconds();
    long long start = clock64(), now = start;
    while ((unsigned long long)(now - start) < cycles)
        now = clock64();
    if (ends) {
        ends[0] = (unsigned long long)(now - start);
        ends[1] = time;
        ends[2] = nanoseconds();
    }
}

PROBE void envbuild_nothing()
{
}
