"""Which toolkits serve a request: the planner against a second implementation from the rows."""

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from envbuild.matrix.load import load
from envbuild.planner.plan import plan
from envbuild.planner.ranges import minor
from envbuild.planner.resolve import resolve
from envbuild.values.plan import Plan
from envbuild.values.request import Request, Wish
from tests.planner.ask import table
from tests.planner.oracle_places import serving
from tests.planner.requests import CCS, DRIVERS, FEATURES, OSES, PACKAGES, maybe

CARDS = [cc for cc in CCS if not table().capabilities[cc].tegra]
CUDAS = ["11", "12", "13", "11.8", "12.4", "12.6", "12.9", "13.2"]
TORCHES = ["", "2.0.1", "2.7.1", "2.8", "2.11.0", "2.14", "2.15.0"]


@st.composite
def asks(draw: st.DrawFn) -> tuple[Request, str | None]:
    """A request for cards, and the version of torch in it; None = not asked for."""
    torch = draw(st.one_of(st.none(), st.sampled_from(TORCHES)))
    names = draw(st.lists(st.sampled_from(PACKAGES), max_size=2, unique=True))
    wishes = [Wish(name=name) for name in names]
    wishes += [Wish(name="torch", range=torch)] if torch is not None else []
    where = draw(maybe(["host"])) or "image"
    request = Request(
        cc=tuple(draw(st.lists(st.sampled_from(CARDS), min_size=1, max_size=2, unique=True))),
        cuda=draw(maybe(CUDAS)),
        packages=tuple(wishes),
        features=tuple(draw(st.lists(st.sampled_from(FEATURES), max_size=2, unique=True))),
        base_os=draw(maybe(OSES)),
        arch=draw(st.sampled_from(["x86_64", "x86_64", "aarch64"])),
        platform=draw(maybe(["wsl2"])),
        glibc=draw(maybe(["2.17", "2.31", "2.41", "2.43"])) if where == "host" else None,
        where=where,  # type: ignore[arg-type]
        flavour=draw(maybe(["base", "runtime", "devel"])),  # type: ignore[arg-type]
        driver=draw(maybe(DRIVERS)),
    )
    return request, torch


@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(asks())
def test_the_toolkits_that_serve_are_those_of_the_rows(asked: tuple[Request, str | None]) -> None:
    request, torch = asked
    target = resolve(request, None, load())
    made = plan(target, load())
    assert isinstance(made, Plan)
    # One machine with cards that it cannot hold is the rule of window.py, tested by itself.
    assume(not any(f.id == "host-window" and f.severity == "error" for f in made.findings))
    ask = {
        "cc": request.cc, "features": target.features,
        "packages": [wanted.name for wanted in target.packages],
        "torch": torch, "cuda": request.cuda, "base_os": request.base_os, "arch": request.arch,
        "where": request.where, "flavour": request.flavour, "driver": request.driver,
        "level": target.driver_cuda, "glibc": target.glibc, "python": target.python,
        "wsl": request.platform == "wsl2",
    }  # fmt: skip
    want = serving(ask)
    have = {minor(a.cuda) for a in made.alternatives if not a.way and a.outcome != "refuse"}
    assert have == want
    assert (made.outcome == "refuse") == (not want)
