"""Does it start, which libcuda is loaded, which code runs: by card, driver, way in, tag and code."""

# ruff: noqa: E501 - one row a line reads as the table that it is

from typing import NamedTuple

import pytest

from envbuild.matrix import names
from envbuild.matrix.model import ImageTag, Injection
from envbuild.planner import drivers
from envbuild.planner.access import ways
from envbuild.planner.launch import Code, Launch, Machine, launch
from envbuild.planner.ranges import numbers
from envbuild.planner.target import Card, Target
from tests.planner import oracle
from tests.planner.ask import ask, ids, table

CARDS = ["GeForce GTX 1080 Ti", "GeForce RTX 3090", "GeForce RTX 5090", "Tesla K80", "Tesla P100",
         "T4", "A100", "H200", "B200", "RTX A6000"]  # fmt: skip
DRIVERS = ["418.226.00", "450.80.02", "470.256.02", "515.65.01", "525.60.13", "535.183.01", "545.23.08",
           "550.163.01", "560.35.03", "570.124.06", "580.95.05", "590.48.01", "610.57.04"]  # fmt: skip


class Start(NamedTuple):
    """A start: ``way`` is access, docker, container toolkit; cuda is the tag's release."""

    gpu: str
    driver: str
    way: tuple[str, str, str]
    tag: str | None
    ends: tuple[str | None, str, str]
    ptx_only: bool = False
    windows: bool = False


CDI_118, CDI_120 = ("cdi", "28.5", "1.18.1"), ("cdi", "28.5", "1.20.0")
GPUS, RUNTIME_117, RUNTIME_118 = (
    ("gpus", "28.5", "1.18.1"),
    ("nvidia-runtime", "28.5", "1.17.8"),
    ("nvidia-runtime", "28.5", "1.18.1"),
)

# Expected by hand. 804 on GeForce: nvidia-docker#1515, textgen#4407. Refused by brand: tabbyAPI#324.
# The hook's rules: nvidia-container-toolkit cudacompat.go; Kepler: container-images/cuda#182.
STARTS = [
    # the driver is at the tag's level: its own libcuda, whatever the way
    Start("GeForce RTX 3090", "580.95.05", CDI_118, "13.0.2", ("driver", "sass", "")),
    Start("GeForce RTX 3090", "580.95.05", GPUS, "13.0.2", ("driver", "sass", "")),
    Start("GeForce RTX 3090", "580.95.05", CDI_118, "13.0.2", ("driver", "ptx", ""), ptx_only=True),
    # GeForce below the tag's level: refused where the requirement is read, else 804
    Start("GeForce RTX 3090", "550.144.03", GPUS, "12.8.1", (None, "none", "require")),
    Start("GeForce RTX 3090", "550.144.03", RUNTIME_117, "12.8.1", (None, "none", "require")),
    Start("GeForce RTX 3090", "550.144.03", RUNTIME_118, "12.8.1", ("image", "none", "804")),
    Start("GeForce RTX 3090", "550.144.03", CDI_118, "12.8.1", ("image", "none", "804")),
    Start("GeForce RTX 3090", "550.144.03", ("cdi", "28.5", "1.17.4"), "12.8.1", ("driver", "sass", "")),
    # up to 12.4 the tag lets old branches of every brand start, and then ends in 804
    Start("GeForce GTX 1080 Ti", "535.183.01", GPUS, "12.4.1", ("image", "none", "804")),
    # 1.20.0 asks the list: R545 is not on it, so that the driver's own libcuda stays first
    Start("GeForce RTX 3090", "545.23.08", CDI_118, "12.9.1", ("image", "none", "804")),
    Start("GeForce RTX 3090", "545.23.08", CDI_120, "12.9.1", ("driver", "sass", "")),
    Start("GeForce RTX 3090", "545.23.08", CDI_120, "12.9.1", ("driver", "none", "222"), ptx_only=True),
    # rid of both, or a plain system: finished code by minor-version compatibility, PTX not
    Start("GeForce RTX 3090", "550.144.03", CDI_118, None, ("driver", "sass", "")),
    Start("GeForce RTX 3090", "550.144.03", CDI_118, None, ("driver", "none", "222"), ptx_only=True),
    # data-centre cards on a listed branch: the image's libcuda, across majors, and its JIT
    Start("A100", "535.183.01", CDI_118, "13.0.2", ("image", "sass", "")),
    Start("A100", "535.183.01", CDI_120, "13.0.2", ("image", "ptx", ""), ptx_only=True),
    Start("T4", "550.163.01", GPUS, "12.8.1", ("image", "sass", "")),
    Start("A100", "545.23.08", CDI_118, "13.0.2", ("image", "none", "803")),
    Start("A100", "545.23.08", CDI_120, "13.0.2", ("driver", "none", "35")),
    Start("A100", "535.183.01", ("cdi", "28.5", "1.17.4"), "13.0.2", ("driver", "none", "35")),
    # the image's libcuda no longer knows the card; the driver ignores it, or never knew it
    Start("Tesla K80", "470.256.02", CDI_118, "11.8.0", ("image", "none", "100")),
    Start("Tesla K80", "470.256.02", CDI_118, None, ("driver", "sass", "")),
    Start("Tesla P100", "590.48.01", CDI_118, "12.9.1", ("driver", "none", "100")),
    Start("GeForce RTX 5090", "550.163.01", CDI_118, None, ("driver", "none", "100")),
    # WSL: a CDI specification there has no such hook
    Start("GeForce RTX 3090", "551.61", ("cdi", "", "1.18.1"), "12.8.1", ("driver", "sass", ""), windows=True),
    Start("GeForce RTX 3090", "551.61", ("gpus", "28.5", "1.18.1"), "12.8.1", (None, "none", "require"), windows=True),
]  # fmt: skip


def _card(name: str) -> Card:
    row = names.product(name)[0]
    return Card(cc=row.cc or "", name=row.name, brand=row.brand or None,
                forward_compat=row.forward_compat, first_driver=row.first_driver)  # fmt: skip


def _tag(release: str | None) -> ImageTag | None:
    return next((t for t in table().matrices.images if t.cuda == release), None)


def _way(way: tuple[str, str, str], windows: bool) -> Injection:
    access, docker, toolkit = way
    target = Target(engine_access=(("docker", access),), docker=docker or None, container_toolkit=toolkit,
                    platform="wsl2" if windows else "linux")  # fmt: skip
    (found,) = ways(table(), target)
    return found


def _machine(name: str, driver: str, windows: bool = False) -> Machine:
    return Machine(
        _card(name), driver, drivers.level(table(), driver, windows=windows), windows=windows
    )


def _start(one: Start) -> Launch:
    tag = _tag(one.tag)
    assert (tag is None) == (one.tag is None)
    cuda = one.tag or (
        "13.0" if int(one.driver[:3]) >= 580 else "11.8" if "K80" in one.gpu else "12.8"
    )
    target = table().capability(_card(one.gpu).cc).target
    minor = ".".join(cuda.split(".")[:2])
    code = (
        Code(minor, ptx=(target,))
        if one.ptx_only
        else Code(minor, targets=(target,), ptx=(target,))
    )
    return launch(
        table(), _machine(one.gpu, one.driver, one.windows), code, _way(one.way, one.windows), tag
    )


@pytest.mark.parametrize(
    "one", STARTS, ids=lambda s: f"{s.gpu}-{s.driver}-{'-'.join(s.way)}-{s.tag}"
)
def test_how_it_ends(one: Start) -> None:
    made = _start(one)
    assert (made.libcuda, made.runs, made.error) == one.ends
    assert made.starts == (one.ends[0] is not None)


def test_every_start_ends_as_the_rows_alone_say() -> None:
    """Card classes x drivers x ways x tags x code, against a second, plain implementation."""
    raw_ways = [w for w in oracle.rows()["injections"] if w.get("platform", "") == ""]
    ways_ = [w for w in table().matrices.injections if not w.platform]
    alike = {(w.reads_require, w.compat, w.listed_from): i for i, w in enumerate(ways_)}
    both = [(ways_[i], raw_ways[i]) for i in alike.values()]
    raw_tags = {t["cuda"]: t for t in reversed(oracle.rows()["images"])}
    tags = {t.cuda: t for t in reversed(table().matrices.images)}
    assert list(tags) == list(raw_tags)
    looked = 0
    for name in CARDS:
        gpu, target = oracle.card(name), table().capability(_card(name).cc).target
        for driver in DRIVERS:
            machine = _machine(name, driver)
            assert machine.cuda == oracle.level(driver)
            for release in [*tags, None]:
                cuda = ".".join((release or "12.8").split(".")[:2])
                for targets, ptx in (((target,), ()), ((), (target,)), (("90a", "52"), ("90",))):
                    code = Code(cuda, targets, ptx)
                    raw = {"cuda": cuda, "targets": targets, "ptx": ptx}
                    for way, raw_way in [*both, (None, None)]:
                        tag, raw_tag = tags.get(release or ""), raw_tags.get(release or "")
                        made = launch(table(), machine, code, way, tag)
                        want = oracle.start(gpu, driver, raw_way, raw_tag, raw)
                        assert tuple(want) == (made.libcuda, made.runs, made.error), (
                            name,
                            driver,
                            release,
                            way,
                            code,
                        )
                        looked += 1
    assert looked > 30_000


@pytest.mark.parametrize(
    ("docker", "toolkit", "access", "modes"),
    [
        ("28.5.2", "1.18.1", "gpus", {"legacy"}),
        ("29.1", "1.18.1", "gpus", {"legacy", "cdi"}),
        ("28.5.2", "1.17.8", "nvidia-runtime", {"legacy"}),
        ("28.5.2", "1.18.0", "nvidia-runtime", {"cdi"}),
        (None, None, "cdi", {"cdi"}),
    ],
)
def test_the_way_in_follows_from_versions(
    docker: str | None, toolkit: str | None, access: str, modes: set[str]
) -> None:
    target = Target(engine_access=(("docker", access),), docker=docker, container_toolkit=toolkit)
    assert {way.mode for way in ways(table(), target)} == modes


def test_a_jetson_is_not_entered_by_gpus() -> None:
    target = Target(engine_access=(("docker", "gpus"),), platform="jetson-l4t")
    assert ways(table(), target) == ()
    refused = next(w for w in table().matrices.injections if w.mode == "refused")
    machine = _machine("A100", "580.95.05")
    assert (
        launch(table(), machine, Code("13.0", ("80",)), refused, _tag("13.0.2")).error == "require"
    )


def test_the_aarch64_images_of_old_releases_ask_for_less_or_nothing() -> None:
    tags = {t.cuda: t for t in table().matrices.images if "aarch64" in t.arches}
    legacy = next(w for w in table().matrices.injections if w.reads_require and w.compat == "never")
    code = Code("12.0", ("80",))
    for release, arch, error in [
        ("12.1.1", "aarch64", "require"),
        ("12.1.1", "x86_64", ""),
        ("12.3.2", "aarch64", ""),
    ]:
        card = _card("A100")
        machine = Machine(card, "525.60.13", "12.0", arch=arch)
        assert launch(table(), machine, code, legacy, tags[release]).error == error


def test_a_data_centre_card_runs_a_newer_major_from_the_vendors_tag_alone() -> None:
    plan = ask(gpus=("A100",), driver="550.163.01", cuda="13.0")
    assert (plan.outcome, plan.toolkit_source) == ("ok", "image")
    assert "forward-compat" in ids(plan, "info")
    assert not plan.layout.purge_compat
    assert plan.driver[0].min is not None
    assert numbers(plan.driver[0].min) <= numbers("550.163.01")
    assert (
        ask(
            gpus=("A100",), driver="550.163.01", cuda="13.0", toolkit_source="wheels"
        ).toolkit_source
        == "image"
    )
    assert ask(gpus=("RTX 3090",), driver="550.163.01", cuda="13.0").outcome == "refuse"
    # It comes after what runs on the driver's own libcuda.
    assert (ask(gpus=("A100",), driver="550.163.01").cuda or "").startswith("12.4")
