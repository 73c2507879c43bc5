/* What every probe kernel shares. No header of a toolkit is included: NVRTC compiles these too. */
#ifndef ENVBUILD_PROBE_H
#define ENVBUILD_PROBE_H

/* Entry points keep their C name, so that the runner finds them by name in any module. */
#define PROBE extern "C" __global__

#endif
