/* What every probe kernel shares. No header of a toolkit is included: NVRTC compiles these too. */
#ifndef ENVBUILD_PROBE_H
#define ENVBUILD_PROBE_H

/* Entry points keep their C name, so that the runner finds them by name in any module. */
#define PROBE extern "C" __global__

/* envbuild_NAME, or a name that only this run knows: no code made before can pass for its own. */
#define JOINED(a, b) a##b
#define FINISHED(name, run) JOINED(name, run)
#ifdef ENVBUILD_RUN
#define NAMED(name) FINISHED(envbuild_##name##_, ENVBUILD_RUN)
#else
#define NAMED(name) envbuild_##name
#endif

/* Before a loop: unrolled code would be faster, and ten times as long. */
#define SHORT _Pragma("unroll 1")

#endif
