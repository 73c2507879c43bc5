"""cuda-python: the driver, NVRTC and a launch through its bindings."""

import array
import ctypes
import importlib

import envbuild_say as it
from cuda_python_arrays import COUNT, SOURCE, THREADS, inputs, wrong


def modules():
    """(driver, nvrtc): since 12.8 they are in cuda.bindings, before that in cuda."""
    try:
        from cuda.bindings import driver, nvrtc
    except ImportError:
        from cuda import cuda as driver
        from cuda import nvrtc
    return driver, nvrtc


def call(function, *arguments):
    """The results of a call that must succeed."""
    code, *results = function(*arguments)
    if int(code):
        raise RuntimeError("%s answers %s" % (function.__name__, getattr(code, "name", code)))
    return results[0] if len(results) == 1 else results


def compiled(nvrtc, source, target):
    """(code of NVRTC, its log, the cubin)."""
    program = call(nvrtc.nvrtcCreateProgram, source.encode(), b"add.cu", 0, [], [])
    (code,) = nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=" + target.encode()])
    log = b" " * call(nvrtc.nvrtcGetProgramLogSize, program)
    call(nvrtc.nvrtcGetProgramLog, program, log)
    if int(code):
        return code, log, b""
    cubin = b" " * call(nvrtc.nvrtcGetCUBINSize, program)
    call(nvrtc.nvrtcGetCUBIN, program, cubin)
    return code, log, cubin


def bindings():
    it.doing("import cuda.bindings")
    driver, nvrtc = modules()
    package = importlib.import_module(driver.__name__.rpartition(".")[0])
    found = {"name": "cuda-python", "version": getattr(package, "__version__", "")}
    try:
        found["nvrtc"] = "%d.%d" % tuple(call(nvrtc.nvrtcVersion))
    except Exception as e:
        found["says"] = it.chain(e)[:500]
    it.say("build", **found)
    it.doing("start CUDA")
    call(driver.cuInit, 0)
    device = call(driver.cuDeviceGet, 0)
    call(driver.cuCtxSetCurrent, call(driver.cuDevicePrimaryCtxRetain, device))
    kind = driver.CUdevice_attribute
    cc = [
        call(driver.cuDeviceGetAttribute, getattr(kind, "CU_DEVICE_ATTRIBUTE_" + name), device)
        for name in ("COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR")
    ]
    it.say("device", name="", cc="%d.%d" % tuple(cc))
    it.doing("compile with NVRTC")
    target = "sm_%d%d" % tuple(cc)
    code, log, _ = compiled(nvrtc, SOURCE.replace("a[i]", "no_such_name[i]"), target)
    it.say("refused", name="broken source", says=log.decode(errors="replace") if int(code) else "")
    code, log, cubin = compiled(nvrtc, SOURCE, target)
    if int(code):
        raise RuntimeError("NVRTC for %s: %s" % (target, log.decode(errors="replace")))
    it.doing("load and launch")
    function = call(driver.cuModuleGetFunction, call(driver.cuModuleLoadData, cubin), b"add")
    a, b, want = inputs()
    got = array.array("i", [-1]) * COUNT
    size = COUNT * 4
    on_gpu = [call(driver.cuMemAlloc, size) for _ in range(3)]
    for i, host in enumerate((a, b, got)):
        call(driver.cuMemcpyHtoD, on_gpu[i], host.buffer_info()[0], size)
    call(driver.cuMemcpyDtoH, got.buffer_info()[0], on_gpu[2], size)
    it.equal("add", wrong(got, want), COUNT, control="skipped kernel")
    values = (*(int(place) for place in on_gpu), COUNT), (ctypes.c_void_p,) * 3 + (ctypes.c_uint,)
    shape = (COUNT + THREADS - 1) // THREADS, 1, 1
    (code,) = driver.cuLaunchKernel(function, *shape, 4096, 1, 1, 0, 0, values, 0)
    it.say("answer", name="bad launch", code=int(code))
    call(driver.cuLaunchKernel, function, *shape, THREADS, 1, 1, 0, 0, values, 0)
    call(driver.cuCtxSynchronize)
    call(driver.cuMemcpyDtoH, got.buffer_info()[0], on_gpu[2], size)
    it.equal("add", wrong(got, want), COUNT)
    got[COUNT // 2] += 1
    it.equal("add", wrong(got, want), COUNT, control="changed element")
    for place in on_gpu:
        call(driver.cuMemFree, place)


it.main(bindings)
