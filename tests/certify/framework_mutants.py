"""Probes of frameworks with one thing broken each: every one of them must lose its pass.

Run as a program on a machine with a GPU and the frameworks, it writes what each mutant printed:
``python framework_mutants.py KERNELS OUT.json``.
"""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

NONCE = "0123456789abcdef"


class Mutant(NamedTuple):
    """One change of one probe: ``old`` stands exactly once in ``file``, else in its step's own."""

    name: str
    step: str
    old: str
    new: str
    file: str = ""

    @property
    def probe(self) -> str:
        """The program of its step."""
        return self.step.replace(".", "_").replace("-", "_") + ".py"


_NEAR, _PRODUCT = "torch_near.py", "apply(a.cuda(), b.cuda()), exact)"
MUTANTS = (
    Mutant("a kernel is left out", "torch.eager", "torch.add(on_gpu * 3, 1, out=out)", "pass"),
    Mutant("an index is shifted", "torch.eager", "order.cuda()]", "order.cuda() - 1]"),
    Mutant("a control is not spoilt", "torch.eager", "got[COUNT // 2] += 1", "pass"),
    Mutant(
        "f32 runs as tf32",
        "torch.matmul",
        'matmul.allow_tf32 = name == "tf32"',
        "matmul.allow_tf32 = True",
        _NEAR,
    ),
    Mutant(
        "operands are as short as fp8",
        "torch.matmul",
        _PRODUCT,
        "apply(a.to(torch.float8_e5m2).to(dtype).cuda(), b.cuda()), exact)",
        _NEAR,
    ),
    Mutant(
        "the result stays on the CPU",
        "torch.matmul",
        _PRODUCT,
        "apply(a, b), exact)",
        _NEAR,
    ),
    Mutant(
        "the filter is turned",
        "torch.conv",
        _PRODUCT,
        "apply(a.cuda(), b.flip(-1).cuda()), exact)",
        _NEAR,
    ),
    Mutant(
        "the last element is left out",
        "torch.add",
        "launch(stream, COUNT, a, b, out)",
        "launch(stream, COUNT - 1, a, b, out)",
    ),
    Mutant("a replay is left out", "torch.graph", "graph.replay()\n        against", "against"),
    Mutant("nothing forbidden is captured", "torch.graph", "torch.cuda.synchronize()", "pass"),
    Mutant(
        "nothing is compiled",
        "torch.compile",
        "torch.compile(fused)",
        'torch.compile(fused, backend="eager")',
    ),
    Mutant("a store is changed", "torch.extension", "a[i] + b[i];", "a[i];", "add_kernel.cu"),
    Mutant("half of the grid", "numba.kernels", "add[blocks, ", "add[blocks // 2, "),
    Mutant("steps of a reduction are left out", "numba.kernels", "half //= 2", "half //= 4"),
    Mutant("a sign", "cupy.jit", "c[i] = a[i] + b[i] +", "c[i] = a[i] - b[i] +"),
    Mutant("a factor", "cupy.jit", "c = 2 * a + b", "c = 3 * a + b"),
    Mutant(
        "an operand is as short as f16",
        "cupy.matmul",
        "cupy.asarray(right)",
        "cupy.asarray(right.astype(np.float16).astype(kind))",
    ),
    Mutant(
        "a sum is off by one", "triton.softmax", "tl.sum(values, axis=0)", "(tl.sum(values) + 1)"
    ),
    Mutant(
        "a launch is left out",
        "cuda-python.bindings",
        "call(driver.cuLaunchKernel, function, *shape, THREADS",
        "(lambda *_: None)(driver.cuLaunchKernel, function, *shape, THREADS",
    ),
    Mutant("half of the block", "cuda-python.core", "block=THREADS", "block=THREADS // 2"),
)
_ARGUMENTS = {
    "torch.add": ("{kernels}/prebuilt/add.fatbin", "envbuild_add"),
    "torch.extension": ("{scratch}/extension",),
}


def mutated(mutant: Mutant, text: str) -> str:
    """The source with its one change."""
    if text.count(mutant.old) != 1:
        msg = f"{mutant.name}: {mutant.old!r} stands there {text.count(mutant.old)} times"
        raise ValueError(msg)
    return text.replace(mutant.old, mutant.new)


def answer(mutant: Mutant, kernels: Path) -> dict[str, object]:
    """How the mutant ended and what it printed."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "frameworks"
        folder.mkdir()
        for path in (kernels / "frameworks").glob("*.*"):
            (folder / path.name).write_bytes(path.read_bytes())
        target = folder / (mutant.file or mutant.probe)
        target.write_text(mutated(mutant, target.read_text()))
        given = _ARGUMENTS.get(mutant.step, ())
        more = (text.format(kernels=kernels.absolute(), scratch=scratch) for text in given)
        argv = [sys.executable, str(folder / mutant.probe), NONCE, *more]
        caches = ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "CUPY_CACHE_DIR")
        env = {**os.environ, **dict.fromkeys(caches, scratch)}
        done = subprocess.run(argv, capture_output=True, text=True, check=False, env=env)
    return {"name": mutant.name, "step": mutant.step, "rc": done.returncode, "out": done.stdout}


if __name__ == "__main__":
    # Each spends its time on an import; a few at once do not fill a GPU.
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda one: answer(one, Path(sys.argv[1])), MUTANTS))
    Path(sys.argv[2]).write_text(json.dumps(found, indent=1) + "\n")
