"""A fleet's folder: what bakes its images, and what certifies them on every node."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from envbuild import __version__
from envbuild.errors import InputError
from envbuild.render import fleet, quote, templates
from envbuild.render.context import render
from envbuild.render.view import PLATFORMS, view
from envbuild.values.codec import dump
from envbuild.values.image import File
from envbuild.values.lock import Lock
from envbuild.values.plan import Fleet

FORMATS = ("bake", "slurm", "kubernetes")
#: What podman and crun need inside a pod, each found by leaving it out; but FSETID and SETFCAP,
#: without which an image's files would lose their setgid bits, and those with capabilities fail.
CAPABILITIES = (
    "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_ADMIN", "SETFCAP", "SETGID",
    "SETPCAP", "SETUID", "SYS_ADMIN",
)  # fmt: skip
#: Stands in every folder that is written: what it is of.
PLAN = "fleet.json"


class Order(NamedTuple):
    """What is to be written.

    Attributes:
        formats: some of `FORMATS`.
        require: suites that must pass on each node.
        gpus: how many GPUs of a node a job asks the scheduler for.
        tool: image with envbuild in it, which a Job of Kubernetes runs in.
    """

    formats: tuple[str, ...] = ("bake",)
    require: tuple[str, ...] = ("smoke",)
    gpus: int = 1
    tool: str = ""


def files(
    plans: Fleet, made: Sequence[fleet.Image], order: Order, locks: Sequence[Lock | None] = ()
) -> tuple[File, ...]:
    """Every file of the folder; equal input gives equal bytes.

    Args:
        plans: what was planned.
        made: its images.
        order: what is to be written.
        locks: one for each image, None = tags and versions as they are on the day; bake alone.

    Raises:
        NoPlanError: a plan is for a host, not for an image.
        InputError: a text that no plan of ours holds, or Kubernetes without the tool's image.
    """
    certified = [image for image in made if image.taken.nodes]
    found = [File(path=PLAN, data=dump(plans))]
    if "bake" in order.formats:
        found += _baked(made, locks)
    if "slurm" in order.formats:
        found += [
            _filled(f"{one.name}.sbatch", "sbatch", image=one, order=order) for one in certified
        ]
    if "kubernetes" in order.formats:
        if not order.tool:
            what = "a Job of Kubernetes runs in an image that holds envbuild, and none is named"
            raise InputError(what, fix="--tool-image REF; docs/fleet.md says what must be in it")
        tool = quote.ref(order.tool)
        found += [
            _filled(
                f"{one.name}.yaml",
                "kubernetes.yaml",
                image=one,
                order=order,
                tool_image=tool,
                capabilities=CAPABILITIES,
                arch=PLATFORMS[one.plan.arch].partition("/")[2],
            )
            for one in certified
        ]
        found.append(_filled("collect.sh", "collect.sh"))
    if {"slurm", "kubernetes"} & set(order.formats):
        found += [
            File(path=f"{one.name}.nodes", data="".join(f"{h}\n" for h in one.taken.hosts).encode())
            for one in certified
            if one.taken.hosts
        ]
    out = fleet.left_out(plans)
    tags = any("@" not in image.ref for image in made)
    return (
        *found,
        _filled("README.md", "README.md", images=made, order=order, out=out, image_tags=tags),
    )


def _baked(made: Sequence[fleet.Image], locks: Sequence[Lock | None]) -> list[File]:
    """A folder that builds for each image, and the bake file that builds all of them.

    The bake file is JSON: names, references and stages are all that it takes from a plan, and
    each is one by its form, so that bake finds nothing to expand in them.
    """
    found: list[File] = []
    targets: dict[str, object] = {}
    groups: dict[str, dict[str, list[str]]] = {}
    for image, lock in zip(made, locks, strict=True):
        context = render(image.plan, lock)
        found += [File(path=f"{image.name}/{file.path}", data=file.data) for file in context.files]
        for stage, group in (("devel", "default"), ("runtime", "runtime")):
            if stage == "runtime" and view(image.plan, lock).runtime is None:
                continue
            end = "" if stage == "devel" else f"-{stage}"
            targets[image.name + end] = {
                "context": image.name,
                "target": stage,
                "platforms": [context.platform],
                "tags": [image.ref.partition("@")[0] + end],
                # It would turn the image into an index; provenance is written apart.
                "attest": ["type=provenance,disabled=true"],
            }
            groups.setdefault(group, {"targets": []})["targets"].append(image.name + end)
    bake = msgspec.json.encode({"group": groups, "target": targets})
    return [*found, File(path="docker-bake.json", data=msgspec.json.format(bake, indent=2) + b"\n")]


def _filled(path: str, template: str, **values: object) -> File:
    return File(path=path, data=templates.fill(f"fleet/{template}.j2", tool=__version__, **values))
