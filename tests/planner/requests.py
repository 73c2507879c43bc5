"""Random requests that are well-formed: words and versions that exist, and some that conflict."""

from typing import Any

from hypothesis import strategies as st

from envbuild.values.request import Request, Wish
from tests.planner.ask import table

_TABLE = table()
CCS = sorted(_TABLE.capabilities)
CUDAS = [*_TABLE.toolkits, "11", "12", "13", ">=12.4,<13", "<12", ">=13.0", "!=12.9", "12.4.1"]
TORCHES = ["", "==2.0.1", "==2.7.1", "==2.8.0", "==2.11.0", "==2.14.1", "==2.15.0", ">=2.9"]
FEATURES = ["wgmma", "fp8", "fp4", "tensor-cores", "bf16", "tcgen05", "extension", "arch-specific"]
DRIVERS = ["450.80.02", "470.256.02", "525.60.13", "535.309.01", "550.163.01", "570.86.16",
           "580.173.02", "590.48.01", "610.57.04", "620.1.1"]  # fmt: skip
OSES = ["ubuntu20.04", "ubuntu22.04", "ubuntu24.04", "ubuntu26.04", "debian12", "debian13",
        "rockylinux9"]  # fmt: skip
PACKAGES = ["numba", "cupy", "triton", "cudnn", "jax", "tensorflow"]
SOURCES = ["image", "wheels", "distro", "apt", "redist", "conda"]


def maybe(values: list[str]) -> st.SearchStrategy[str | None]:
    """None twice as often as a value: few requests name everything."""
    return st.one_of(st.none(), st.none(), st.sampled_from(values))


@st.composite
def requests(draw: st.DrawFn, *, torch: bool | None = None) -> Request:
    """A request; ``torch`` says whether it asks for torch, None = either."""
    wishes = [Wish(name=name) for name in draw(st.lists(st.sampled_from(PACKAGES), max_size=2))]
    if torch or (torch is None and draw(st.booleans())):
        wishes.append(Wish(name="torch", range=draw(st.sampled_from(TORCHES))))
    where = draw(maybe(["image", "host"]))
    return Request(
        cc=tuple(draw(st.lists(st.sampled_from(CCS), min_size=1, max_size=3, unique=True))),
        cuda=draw(maybe(CUDAS)),
        packages=tuple(wishes),
        features=tuple(draw(st.lists(st.sampled_from(FEATURES), max_size=2, unique=True))),
        base_os=draw(maybe(OSES)),
        arch=draw(maybe(["x86_64", "aarch64"])),
        platform=draw(maybe(["linux", "wsl2", "jetson"])),
        glibc=draw(maybe(["2.31", "2.39", "2.41", "2.42"])) if where == "host" else None,
        gcc=draw(maybe(["11", "13", "16.1"])) if where == "host" else None,
        where=where,  # type: ignore[arg-type]
        flavour=draw(maybe(["base", "runtime", "devel"])),  # type: ignore[arg-type]
        toolkit_source=draw(maybe(SOURCES)),  # type: ignore[arg-type]
        driver=draw(maybe(DRIVERS)),
    )


@st.composite
def modest(draw: st.DrawFn) -> Request:
    """What people ask: one or two cards of today, and at most two more things; most have a plan."""
    cc = draw(st.lists(st.sampled_from(CCS), min_size=1, max_size=2, unique=True))
    fields: dict[str, Any] = {
        "cuda": st.sampled_from(["11", "12", "13", ">=12.4", "12.9", "!=12.9"]),
        "driver": st.sampled_from(DRIVERS),
        "base_os": st.sampled_from(OSES),
        "platform": st.sampled_from(["wsl2", "jetson"]),
        "where": st.just("host"),
        "flavour": st.sampled_from(["base", "runtime", "devel"]),
        "toolkit_source": st.sampled_from(SOURCES),
        "packages": st.sampled_from([(Wish(name=n),) for n in ("torch", *PACKAGES)]),
        "features": st.sampled_from([(name,) for name in FEATURES]),
        "as_of": st.sampled_from(["2025-06-01", "2027-06-01", "2029-01-01"]),
    }
    names = draw(st.lists(st.sampled_from(sorted(fields)), max_size=2, unique=True))
    return Request(cc=tuple(cc), **{name: draw(fields[name]) for name in names})


def wishes(request: Request) -> int:
    """How many things are wished for; the toolkit source is a preference."""
    named = (request.cuda, request.base_os, request.flavour, request.where == "host" or None)
    listed = len(request.packages) + len(request.features)
    return listed + sum(value is not None for value in named)


def wishful() -> st.SearchStrategy[Request]:
    """Requests with two wishes or more: most of them conflict."""
    return requests().filter(lambda request: wishes(request) > 1)
