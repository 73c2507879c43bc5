"""torch and the other Python packages that care about CUDA."""

from collections.abc import Iterator

from envbuild.matrix.answers.common import capability, ordered, serving, words
from envbuild.matrix.load import load
from envbuild.matrix.show import Line, line, unknown


def torch(text: str, cc: str) -> Iterator[Line]:
    """Builds of one release (``2.14.1``) or of a minor (``2.14``); with ``cc`` those that serve it.

    Raises:
        InputError: no such release; names the nearest.
    """
    wanted, _, index = text.strip().removeprefix("v").partition("+")
    rows = [b for b in load().torch if b.torch == wanted or b.torch.startswith(f"{wanted}.")]
    rows = [b for b in rows if index in {"", b.index}]
    if not rows:
        raise unknown("--torch", text, reversed(ordered(b.torch for b in load().torch)))
    having = [b for b in rows if not cc or (b.cuda and serving(b, cc))]
    if not having:
        row = capability(cc)
        says = f"no build of it has code for {cc}"
        newest = next((b for b in load().torch if b.cuda and serving(b, cc)), None)
        says += f"; the newest with it is {newest.torch} from {newest.index}" if newest else ""
        yield line("builds", says, "capabilities", cc, row)
    for b in having:
        codes = " ".join(f"sm_{t}" for t in b.targets)
        codes += "".join(f" compute_{t}" for t in b.ptx)
        says = words(
            [
                f"{b.torch} from {b.index} ({b.arch})",
                f"CUDA {b.cuda}" if b.cuda else "no CUDA",
                codes,
                f"triton {b.triton}" if b.triton else "",
                f"cuDNN {b.cudnn}" if b.cudnn else "",
                f"Python {' '.join(b.pythons) or b.python}",
                f"glibc {b.glibc}" if b.glibc else "",
                f"of {b.released}" if b.released else "",
            ]
        )
        yield line("builds", says, "torch", f"{b.torch}-{b.index}", b)
    for pair in load().torch_pairs:
        if pair.torch in {b.torch for b in rows}:
            says = f"{pair.torch}: torchvision {pair.torchvision}, torchaudio {pair.torchaudio}"
            yield line("pairs", says, "torch_pairs", pair.torch, pair)
    for name in dict.fromkeys(b.index for b in having):
        address = next((i for i in load().torch_indexes if i.index == name and i.url), None)
        if address is not None:
            yield line("index", f"{name}: {address.url}", "torch_indexes", name, address)


def package(text: str, cc: str) -> Iterator[Line]:
    """A package by the name that people ask for.

    Raises:
        InputError: no row is about it; names the nearest.
    """
    name = text.strip().lower().replace("_", "-")
    matrices = load()
    if name == "torch":
        # `--torch` asks of a release; here it is the newest.
        yield from torch(ordered(b.torch for b in matrices.torch)[-1], cc)
        yield from _cudnn()
        return
    rows = [r for r in matrices.packages if name in {r.name, r.requirement, *r.extra}]
    if not rows:
        every = ["torch", *(w for r in matrices.packages for w in (r.name, *r.extra))]
        raise unknown("--with", text, every)
    for r in rows:
        says = words(
            [
                f"{r.requirement} for CUDA {r.cuda_major}",
                f"newest {r.version}" if r.version else "",
                f"cc {r.cc_min or 'any'} to {r.cc_max or 'newest'}",
                f"CUDA {r.cuda_min or r.cuda_major} to {r.cuda_max or 'newest'}",
                "emits PTX for the driver's JIT" if r.needs_jit else "",
                "compiles for the card at run time" if r.compiles else "",
                "calls a C compiler" if r.needs_compiler else "",
                "brings a cuDNN" if r.cudnn else "",
                "source alone" if r.sdist else "",
                f"Python {' '.join(r.pythons)}" if r.pythons else "",
            ]
        )
        yield line("package", says, "packages", r.requirement, r)
    if name == "triton":
        for t in matrices.triton:
            if not cc or capability(cc).target in t.targets:
                says = f"{t.triton} and newer: its ptxas knows {' '.join(t.targets)}"
                yield line("triton", says, "triton", t.triton, t)
    if name == "cudnn":
        yield from _cudnn()


def _cudnn() -> Iterator[Line]:
    for c in load().cudnn:
        says = f"{c.cudnn_from} and newer: no code below {c.cc_min}"
        yield line("cudnn", says, "cudnn", c.cudnn_from, c)
