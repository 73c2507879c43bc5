"""Images as if built from the plans and locks of `tests.render`; made, but for the labels' form."""

from envbuild.attest.packages import Installed, Packages
from envbuild.values.codec import Pairs, digest
from envbuild.values.image import Image
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan

CONFIG, MANIFEST = "sha256:" + "c" * 64, "sha256:" + "f" * 64


def image(plan: Plan, lock: Lock, stage: str = "devel", manifest: str | None = None) -> Image:
    """The image of one stage, under a name in a private registry."""
    labels = {"envbuild.plan": digest(plan), "envbuild.lock": digest(lock)}
    return Image(
        ref="registry.secret.example:5000/team/app:1",
        config=CONFIG,
        manifest=manifest,
        platform="linux/amd64",
        labels=Pairs(labels | {"envbuild.stage": stage}),
    )


def inside(lock: Lock, *more: Installed) -> Packages:
    """What an image holds that was built from a lock: all of it, and a base's own."""
    debs = [Installed(kind="deb", name=p.name, version=p.version, arch=p.arch) for p in lock.apt]
    wheels = [Installed(kind="pypi", name=w.name, version=w.version) for w in lock.wheels]
    found = (*debs, *wheels, *more)
    return Packages(system="debian-12", read=("deb", "pypi"), installed=found)
