"""numba: what compiles for it, then an elementwise kernel and one with shared memory."""

import contextlib

import envbuild_say as it

COUNT, THREADS = (1 << 20) + 3, 256


def built(cuda):
    """Versions of numba and of what it compiles with; a part that is not there stays empty."""
    import numba

    found = {"name": "numba", "version": numba.__version__}
    with contextlib.suppress(Exception):
        import numba_cuda

        found["other"] = numba_cuda.__version__
    with contextlib.suppress(Exception):
        from numba.cuda.cudadrv import nvrtc

        try:
            found["nvrtc"] = "%d.%d" % tuple(nvrtc.NVRTC().get_version())
        except AttributeError:
            found["nvrtc"] = "%d.%d" % tuple(nvrtc._get_nvrtc_version())
    with contextlib.suppress(Exception):
        found["cuda"] = "%d.%d" % tuple(cuda.runtime.get_version())
    it.say("build", **found)


def part():
    it.doing("import numba")
    import numpy as np
    from numba import cuda, int32

    built(cuda)
    it.doing("start CUDA")
    device = cuda.get_current_device()
    name = device.name.decode() if isinstance(device.name, bytes) else device.name
    it.say("device", name=name, cc="%d.%d" % device.compute_capability)

    @cuda.jit
    def add(a, b, c):
        i = cuda.grid(1)
        if i < c.size:
            c[i] = a[i] + b[i]

    @cuda.jit
    def total(a, out):
        kept = cuda.shared.array(THREADS, int32)
        i, t = cuda.grid(1), cuda.threadIdx.x
        kept[t] = a[i] if i < a.size else 0
        cuda.syncthreads()
        half = THREADS // 2
        while half:
            if t < half:
                kept[t] += kept[t + half]
            cuda.syncthreads()
            half //= 2
        if t == 0:
            cuda.atomic.add(out, 0, kept[0])

    random = np.random.default_rng(it.SEED)
    a, b = random.integers(0, 1 << 10, (2, COUNT), dtype=np.int32)
    a[0], blocks = 7, (COUNT + THREADS - 1) // THREADS
    poison = np.full(COUNT, -1, np.int32)
    out = cuda.to_device(poison)
    it.equal("add", (out.copy_to_host() != a + b).sum(), COUNT, control="skipped kernel")
    it.doing("compile and run add")
    add[blocks, THREADS](cuda.to_device(a), cuda.to_device(b), out)
    cuda.synchronize()
    got = out.copy_to_host()
    it.equal("add", (got != a + b).sum(), COUNT)
    got[COUNT // 2] += 1
    it.equal("add", (got != a + b).sum(), COUNT, control="changed element")
    it.doing("compile and run a reduction")
    for control, data in (("", a), ("an element less", a[1:])):
        sums = cuda.to_device(np.zeros(1, np.int32))
        total[blocks, THREADS](cuda.to_device(data), sums)
        it.equal("reduction", int(sums.copy_to_host()[0]) != int(a.sum()), 1, control=control)


it.main(part)
