"""Triton: a fused softmax, compiled in the image by Triton's own assembler."""

import contextlib
import os
import re
import subprocess

import envbuild_say as it

ROWS, COLUMNS, BLOCK = 512, 781, 1024


def assembler(triton):
    """(path, version) of the ptxas that Triton takes; empty where it cannot be asked."""
    path = os.environ.get("TRITON_PTXAS_PATH", "")
    for one in ("backends/nvidia/bin/ptxas", "third_party/cuda/bin/ptxas"):
        own = os.path.join(os.path.dirname(triton.__file__), one)
        path = path or (own if os.path.isfile(own) else "")
    try:
        said = subprocess.run([path, "--version"], stdout=subprocess.PIPE, timeout=20, check=False)
    except (OSError, ValueError):
        return path, ""
    found = re.search(rb"release ([0-9.]+)", said.stdout)
    return path, found.group(1).decode() if found else ""


def part():
    it.doing("import triton")
    import triton
    import triton.language as tl

    try:
        import torch
    except ImportError:
        raise it.Missing("torch, through which Triton reaches the GPU") from None
    path, version = assembler(triton)
    it.say("build", name="triton", version=triton.__version__, ptxas=version, path=path)
    it.doing("start CUDA")
    cc = torch.cuda.get_device_capability()
    it.say("device", name=torch.cuda.get_device_name(), cc="%d.%d" % cc)

    @triton.jit
    def softmax(x, y, columns, limit, BLOCK: tl.constexpr):
        row, place = tl.program_id(0), tl.arange(0, BLOCK)
        inside = place < limit
        values = tl.load(x + row * columns + place, mask=inside, other=-float("inf"))
        values = tl.exp(values - tl.max(values, axis=0))
        values = values / tl.sum(values, axis=0)
        tl.store(y + row * columns + place, values, mask=inside)

    torch.manual_seed(it.SEED)
    x = (torch.rand(ROWS, COLUMNS, dtype=torch.float64) * 8 - 4).float()
    want = torch.softmax(x.double(), dim=-1)
    on_gpu = x.cuda()
    it.doing("compile and run a softmax")
    # One column less, and each row's sum is wrong.
    for control, limit in (("", COLUMNS), ("a column left out", COLUMNS - 1)):
        out = torch.full_like(on_gpu, float("nan"))
        made = softmax[(ROWS,)](on_gpu, out, COLUMNS, limit, BLOCK=BLOCK)
        part = out[:, : COLUMNS - 1].cpu().double()
        error = (part - want[:, : COLUMNS - 1]).abs() / want[:, : COLUMNS - 1]
        if not control:
            error = (out.cpu().double() - want).abs() / want
        it.near("softmax", error.max(), error.numel(), control=control)
        if not control:
            target = ""
            with contextlib.suppress(Exception):
                target = re.search(r"\.target\s+(\w+)", made.asm["ptx"]).group(1)
            it.say("code", name="softmax", target=target, count=len(made.asm.get("cubin", b"")))


it.main(part)
