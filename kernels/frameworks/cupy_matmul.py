"""cuBLAS through cupy, against numpy in float64."""

import envbuild_say as it

M, N, K = 256, 320, 128


def part():
    it.doing("import cupy")
    import cupy
    import numpy as np

    random = np.random.default_rng(it.SEED)
    for name, kind in (("f64", np.float64), ("f32", np.float32)):
        it.doing(name)
        left, right = (random.uniform(-1, 1, size).astype(kind) for size in ((M, K), (K, N)))
        want = left.astype(np.float64) @ right.astype(np.float64)
        scale = abs(left).astype(np.float64) @ abs(right).astype(np.float64)
        on_gpu = cupy.asarray(right)
        for control, other in (("", on_gpu), ("wrong stride", on_gpu.reshape(N, K).T)):
            error = abs(cupy.asarray(left).dot(other).get() - want) / scale
            it.near(name, error.max(), error.size, control=control)


it.main(part)
