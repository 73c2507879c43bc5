"""cuda.core: compile, launch and synchronise through its objects."""

import array
import ctypes

import envbuild_say as it
from cuda_python_arrays import COUNT, SOURCE, THREADS, inputs, wrong


def part():
    it.doing("import cuda.core")
    try:
        from cuda import core

        core.Device  # noqa: B018
    except (ImportError, AttributeError):
        try:
            from cuda.core import experimental as core
        except ImportError:
            raise it.Missing("cuda.core (the package cuda-core)") from None

    it.doing("start CUDA")
    device = core.Device(0)
    device.set_current()
    stream, cc = device.create_stream(), "".join(str(n) for n in device.compute_capability)
    it.doing("compile")
    options = core.ProgramOptions(arch="sm_" + cc)
    kernel = core.Program(SOURCE, code_type="c++", options=options).compile("cubin")
    it.doing("launch")
    a, b, want = inputs()
    got = array.array("i", [-1]) * COUNT
    pinned = [core.LegacyPinnedMemoryResource().allocate(COUNT * 4) for _ in range(3)]
    for buffer, host in ((pinned[0], a), (pinned[1], b), (pinned[2], got)):
        ctypes.memmove(int(buffer.handle), host.buffer_info()[0], COUNT * 4)
    shape = core.LaunchConfig(grid=(COUNT + THREADS - 1) // THREADS, block=THREADS)
    places = [int(buffer.handle) for buffer in pinned]
    core.launch(stream, shape, kernel.get_kernel("add"), *places, ctypes.c_uint(COUNT))
    it.equal("add", wrong(got, want), COUNT, control="skipped kernel")
    stream.sync()
    ctypes.memmove(got.buffer_info()[0], places[2], COUNT * 4)
    it.equal("add", wrong(got, want), COUNT)
    got[COUNT // 2] += 1
    it.equal("add", wrong(got, want), COUNT, control="changed element")
    for buffer in pinned:
        buffer.close()


it.main(part)
