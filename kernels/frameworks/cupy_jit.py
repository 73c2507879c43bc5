"""cupy compiles at run time: a raw kernel that includes a CUDA header, and an elementwise one."""

import envbuild_say as it

COUNT = (1 << 20) + 3
RAW = r"""
#include <cuda_fp16.h>
extern "C" __global__ void add(const float *a, const float *b, float *c, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i] + __half2float(__float2half(0.0f));
}
"""


def part():
    it.doing("import cupy")
    import cupy
    import numpy as np

    it.doing("start CUDA")
    cc = cupy.cuda.Device(0).compute_capability
    it.say("device", cc="%s.%s" % (cc[:-1], cc[-1]))
    x = np.random.default_rng(it.SEED).integers(0, 1 << 20, (2, COUNT)).astype(np.float32)
    a, b = cupy.asarray(x[0]), cupy.asarray(x[1])
    want, out = x[0] + x[1], cupy.full(COUNT, cupy.nan, cupy.float32)
    skipped = (out.get() != want).sum()
    it.doing("compile a raw kernel that includes cuda_fp16.h")
    add = cupy.RawKernel(RAW, "add")
    add(((COUNT + 255) // 256,), (256,), (a, b, out, np.uint32(COUNT)))
    got = out.get()
    it.equal("raw kernel", (got != want).sum(), COUNT)
    it.equal("raw kernel", skipped, COUNT, control="skipped kernel")
    got[COUNT // 2] += 1
    it.equal("raw kernel", (got != want).sum(), COUNT, control="changed element")
    it.doing("compile an elementwise kernel")
    twice = cupy.ElementwiseKernel("float32 a, float32 b", "float32 c", "c = 2 * a + b", "twice")
    want = 2 * x[0] + x[1]
    it.equal("elementwise", (twice(a, b).get() != want).sum(), COUNT)
    it.equal("elementwise", (twice(b, a).get() != want).sum(), COUNT, control="swapped inputs")
    it.doing("compile a broken kernel")
    try:
        cupy.RawKernel(RAW.replace("a[i]", "no_such_name[i]"), "add").compile()
        says = ""
    except Exception as e:
        says = it.chain(e)[:1000]
    it.say("refused", name="broken source", says=says)


it.main(part)
