"""What cupy was built for and the NVRTC that it finds, before it compiles anything."""

import contextlib

import envbuild_say as it


def part():
    it.doing("import cupy")
    import cupy

    found = {"name": "cupy", "version": cupy.__version__}
    with contextlib.suppress(Exception):
        number = cupy.cuda.runtime.runtimeGetVersion()
        found["cuda"] = "%d.%d" % (number // 1000, number % 1000 // 10)
    try:
        from cupy_backends.cuda.libs import nvrtc

        found["nvrtc"] = "%d.%d" % tuple(nvrtc.getVersion())
    except Exception as e:
        found["says"] = it.chain(e)[:500]
    it.say("build", **found)


it.main(part)
