"""Packages that an index has as source alone: how they are built on top of what is planned."""

from collections.abc import Iterator

from envbuild.matrix.model import PackageRule
from envbuild.planner.compose import requirement
from envbuild.planner.notes.base import Chosen, note
from envbuild.planner.notes.packages import taken
from envbuild.planner.ranges import numbers
from envbuild.planner.table import cite
from envbuild.planner.target import Wanted
from envbuild.values.codec import replace
from envbuild.values.finding import Finding, Step


def built_on_top(chosen: Chosen) -> Iterator[Finding]:
    """Images are made of wheels with hashes: a source is built after them, as a step of its own."""
    for wanted in chosen.target.packages:
        row = taken(chosen, wanted)
        if row is None or not row.sdist:
            continue
        says = f"{wanted} is not installed with the rest: the index has its source alone"
        why = f"the plan has what its build needs: {', '.join(row.build_needs)}"
        if row.compiled:
            says += ", which nvcc compiles against torch"
            why += (
                "; the build looks for a ready wheel on its own release page first, and else "
                "compiles for long: fewer MAX_JOBS take less memory"
            )
        found = note("package-source", "warn", says, cite(row, row.name), why)
        yield replace(found, steps=(_step(chosen, row, wanted),))


def _step(chosen: Chosen, row: PackageRule, wanted: Wanted) -> Step:
    """After the image is built, or in the environment of the machine."""
    name = requirement(row, wanted)
    jobs = ["MAX_JOBS=4"] if row.compiled else []
    module = row.name.replace("-", "_")
    if chosen.target.on_host:
        pip = ("cuda-venv/bin/python", "-m", "pip", "install", "--no-build-isolation", name)
        return Step(
            why=f"after the steps of the toolkit, build {row.name} with what is in its environment",
            argv=("env", *jobs, *pip) if jobs else pip,
            check=f"cuda-venv/bin/python -c 'import {module}'",
        )
    image = image_name(chosen)
    quoted = f'"{name}"' if "<" in name or ">" in name else name
    run = " ".join([*jobs, "pip install --no-cache-dir --no-build-isolation", quoted])
    lines = "\\n".join((f"FROM {image}", "USER root", f"RUN {run}", "USER 1000:1000"))
    return Step(
        why=f"after `envbuild build`, build {row.name} with what is in the image",
        text=f"printf '{lines}\\n' | docker build -t {image}-{row.name} -",
        check=f"envbuild run {image}-{row.name} -- python -c 'import {module}'",
    )


def image_name(chosen: Chosen) -> str:
    """The name that `envbuild build` gives the image of this plan (`render.view.image_name`)."""
    cuda = "".join(map(str, numbers(chosen.choice.place.release)[:2]))
    cc = "-".join(one.replace(".", "") for one in chosen.cc)
    return "envbuild/" + "-".join([f"cu{cuda}"] + [f"cc{cc}"] * bool(cc))
