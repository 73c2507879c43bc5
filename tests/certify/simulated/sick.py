"""What can ail a machine or an image, with the check that must see it; controls that sleep."""

from tests.certify.simulated.machine import Trouble

# The device that all of them are tried on: it has every kind of core.
WITH = "A100-SXM4-40GB"
HALF_CLOCK = 0.45
SICK = {
    # Clocks: half of them for a reason of the machine's own.
    "hardware slowdown": (Trouble(clock=HALF_CLOCK, reasons=0x8), "fast.clock", "fail", "machine"),
    "too hot": (Trouble(clock=HALF_CLOCK, reasons=0x40), "fast.clock", "fail", "machine"),
    "too hot by software": (Trouble(clock=0.8, reasons=0x20), "fast.clock", "fail", "machine"),
    "power brake": (Trouble(clock=HALF_CLOCK, reasons=0x80), "fast.clock", "fail", "machine"),
    "half the clock, no reason": (Trouble(clock=0.4), "fast.clock", "inconclusive", "machine"),
    "stuck at 300 MHz": (Trouble(clock=0.11), "fast.clock", "inconclusive", "machine"),
    # Memory.
    "half the DRAM": (Trouble(dram=0.5), "fast.dram-read", "fail", "machine"),
    "half the DRAM, triad": (Trouble(dram=0.5), "fast.dram-triad", "fail", "machine"),
    "no cache": (Trouble(l2=0.2), "fast.l2-read", "fail", "machine"),
    "too good": (Trouble(dram=1.4), "fast.dram-read", "void", "suite"),
    # Arithmetic.
    "half the lanes": (Trouble(fma=0.5), "fast.fma-f32", "fail", "machine"),
    "multiply-adds left out": (Trouble(wrong=("fma.f32",)), "fast.fma-f32", "fail", "machine"),
    "impossible": (Trouble(fma=1.5), "fast.fma-f32", "void", "suite"),
    # The image's own.
    "slow code": (Trouble(compiled=0.8), "fast.codegen-fma", "fail", "image"),
    "slow library": (Trouble(library=0.5), "fast.cublas-bf16", "fail", "image"),
    "slow cores": (Trouble(tensor=0.3, library=0.3), "fast.tensor-bf16", "fail", "machine"),
    # Somebody else.
    "shared": (Trouble(busy=90, noise=0.2), "fast.dram-read", "inconclusive", "machine"),
    "shared, clock": (Trouble(busy=90, noise=0.2), "fast.clock", "inconclusive", "machine"),
    "noise": (Trouble(noise=0.4), "fast.dram-triad", "inconclusive", "machine"),
    # Numbers.
    "wrong sums": (Trouble(wrong=("sums",)), "smoke.sums", "fail", "image"),
    "wrong sums everywhere": (
        Trouble(wrong=("sums",), reference=True), "smoke.sums", "fail", "machine",
    ),
    "wrong products": (Trouble(wrong=("plain_f32",)), "correct.plain-f32", "fail", "image"),
    "NaN": (Trouble(nan=("tensor_f16",)), "correct.tensor-f16", "fail", "image"),
    "wrong products everywhere": (
        Trouble(wrong=("plain_f32",), reference=True), "correct.plain-f32", "fail", "machine",
    ),
    "lost additions": (Trouble(wrong=("atomics",)), "correct.atomics", "fail", "image"),
    "a bad launch is taken": (
        Trouble(wrong=("no thread",)), "correct.launches", "fail", "machine",
    ),
    "NaN of torch": (Trouble(nan=("torch.matmul",)), "torch.matmul", "fail", "image"),
    "wrong replay": (
        Trouble(wrong=("torch.graph replay 2",)), "torch.graph", "fail", "image",
    ),
    "wrong words read": (Trouble(wrong=("dram.read",)), "fast.dram-read", "fail", "machine"),
    "bytes lost": (Trouble(wrong=("copy.to.pinned",)), "fast.copies", "fail", "machine"),
    "a graph of 99": (Trouble(wrong=("graph",)), "fast.graph", "fail", "machine"),
    "an error stays": (Trouble(wrong=("pinned",)), "fast.copies", "fail", "machine"),
    # Steps that hang, die, flood, lie.
    "smoke hangs": (Trouble(hung=("smoke", "reference")), "smoke.sums", "inconclusive", "machine"),
    "the image's code hangs": (Trouble(hung=("smoke",)), "smoke.sums", "fail", "image"),
    "correct hangs": (
        Trouble(hung=("correct", "correct.reference")), "correct.plain-f64", "inconclusive",
        "machine",
    ),
    "its code crashes": (Trouble(dead=("correct",)), "correct.plain-f64", "fail", "image"),
    "memory hangs": (Trouble(hung=("fast.memory",)), "fast.dram-read", "inconclusive", "machine"),
    "memory is cut": (Trouble(cut=("fast.memory",)), "fast.dram-read", "inconclusive", "machine"),
    "half a line": (Trouble(garbled=("fast.memory",)), "fast.dram-read", "inconclusive", "suite"),
    "no answer": (Trouble(silent=("fast.compute",)), "fast.fma-f32", "inconclusive", "suite"),
    "torch hangs": (Trouble(hung=("torch.graph",)), "torch.graph", "fail", "image"),
    "torch crashes": (Trouble(dead=("torch.eager",)), "torch.eager", "fail", "image"),
    "cuInit fails": (
        Trouble(answers=(("smoke", "device", "init", 999, "CUDA_ERROR_UNKNOWN"),)),
        "smoke.calls", "fail", "machine",
    ),
    "no memory": (
        Trouble(answers=(("fast.memory", "room", "allocate", 2, "CUDA_ERROR_OUT_OF_MEMORY"),)),
        "fast.dram-read", "fail", "machine",
    ),
}  # fmt: skip

# A control that finds nothing, and the check that is then void.
CONTROLS = {
    "wrong cc": "smoke.code",
    "bad launch": "smoke.calls",
    "changed element": "smoke.sums",
    "skipped launch": "smoke.sums",
    "planted": "correct.plain-f64",
    "zeros": "correct.plain-f32",
    "stride": "correct.plain-f16",
    "operand": "correct.tensor-f16",
    "narrow": "correct.tensor-tf32",
    "plain additions": "correct.atomics",
    "memcheck": "correct.sanitizer",
    "fma.f32.half": "fast.fma-f32",
    "fma.f32.more": "fast.fma-f32",
    "fma.f64.half": "fast.fma-f64",
    "spins": "fast.clock",
    "dram.chase": "fast.dram-read",
    "dram.read.changed": "fast.dram-read",
    "dram.write.other": "fast.dram-write",
    "dram.copy.halved": "fast.dram-copy",
    "dram.triad.halved": "fast.dram-triad",
    "l2.read.far": "fast.l2-read",
    "copy.changed": "fast.copies",
    "copy.to.small": "fast.copies",
    "launch.spun": "fast.launch",
    "graph.apart": "fast.graph",
    "codegen.fma.half": "fast.codegen-fma",
    "codegen.triad.half": "fast.codegen-triad",
    "tensor.f16.half": "fast.tensor-f16",
    "tensor.s8.more": "fast.tensor-s8",
    "cublas.bf16.twice": "fast.cublas-bf16",
    "cublas.f16.perturbed": "fast.cublas-f16",
    "cublas.tf32.narrow": "fast.cublas-tf32",
    "wrong stride": "torch.matmul",
    "skipped kernel": "torch.eager",
    "other order": "torch.eager",
    "the other input": "torch.graph",
    "synchronize in a capture": "torch.graph",
    "cuDNN switched off": "torch.cudnn",
    "without Inductor": "torch.compile",
    "another function": "torch.compile",
    "a tensor of the CPU": "torch.extension",
    "an element less": "numba.kernels",
    "swapped inputs": "cupy.jit",
    "broken source": "cupy.jit",
    "a column left out": "triton.softmax",
    "breakpoint at no kernel": "tools.cuda-gdb",
    "report of another kernel": "tools.ncu",
}
