"""torch's add against a kernel written by hand, on the same memory, stream and context."""

import ctypes
import sys

import envbuild_say as it

COUNT, ROUNDS, THREADS = (1 << 24) + 3, 12, 256


def kernel(path, name):
    """A function that launches the kernel of a prebuilt module on torch's stream."""
    driver = ctypes.CDLL("libcuda.so.1")

    def call(function, *arguments):
        code = getattr(driver, function)(*arguments)
        if code:
            raise RuntimeError("%s answers %d" % (function, code))

    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    with open(path, "rb") as f:
        call("cuModuleLoadData", ctypes.byref(module), f.read())
    call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())

    def launch(stream, count, *tensors):
        values = [ctypes.c_void_p(t.data_ptr()) for t in tensors] + [ctypes.c_uint(count)]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        shape = ((count + THREADS - 1) // THREADS, 1, 1, THREADS, 1, 1, 0)
        call("cuLaunchKernel", function, *shape, ctypes.c_void_p(stream), pointers, None)

    return launch


def part():
    it.doing("import torch")
    import torch

    it.doing("start CUDA")
    torch.cuda.init()
    free = torch.cuda.mem_get_info()[0]
    if free < 16 * COUNT * 4:
        raise it.Missing("%d MiB of free memory on the GPU" % (16 * COUNT * 4 >> 20))
    x = torch.randint(0, 1 << 20, (2, COUNT), generator=torch.manual_seed(it.SEED))
    a, b = x.to(torch.float32).cuda()
    own, out = torch.empty_like(a), torch.full_like(a, float("nan"))
    skipped = int((out != a + b).sum())
    it.doing("the hand-written kernel")
    launch, stream = kernel(sys.argv[2], sys.argv[3]), torch.cuda.current_stream().cuda_stream
    ways = {
        "torch": lambda: torch.add(a, b, out=own),
        "by hand": lambda: launch(stream, COUNT, a, b, out),
    }
    spent = {name: [] for name in ways}
    for order in (("torch", "by hand"), ("by hand", "torch")) * (ROUNDS // 2):
        for name in order:
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            ways[name]()
            end.record()
            end.synchronize()
            spent[name].append(start.elapsed_time(end))
    it.equal("torch and kernel", (own != out).sum(), COUNT)
    want = x.sum(0).to(torch.float32)
    it.equal("torch and CPU", (own.cpu() != want).sum(), COUNT)
    out[COUNT // 2] += 1
    it.equal("torch and kernel", (own != out).sum(), COUNT, control="changed element")
    it.equal("torch and CPU", (out.cpu() != want).sum(), COUNT, control="changed element")
    it.equal("torch and kernel", skipped, COUNT, control="skipped kernel")
    for name, times in spent.items():
        it.say("time", name=name, ms=times[2:], bytes=12 * COUNT)


it.main(part)
