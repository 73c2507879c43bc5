"""What an image promises: from its plan, else its labels, else what the caller asks for."""

import re

from envbuild.certify.seen import Terms
from envbuild.errors import ImageError, InputError
from envbuild.matrix.model import Matrices, Toolkit
from envbuild.values.codec import Pairs, digest, replace
from envbuild.values.image import Image
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan

_TARGET = re.compile(r"[1-9][0-9]{1,2}[af]?")
_CC = re.compile(r"[1-9][0-9]?\.[0-9]")


def terms(
    image: Image,
    *,
    plan: Plan | None,
    lock: Lock | None,
    matrices: Matrices,
    cc: tuple[str, ...] = (),
    device_cc: str | None = None,
) -> Terms:
    """The terms an image is certified under.

    Args:
        image: its labels count where no plan is given.
        plan: the plan it was built from.
        lock: what its packages are compared with.
        matrices: for the targets of ``cc``.
        cc: asked for by the caller; wins over plan and labels.
        device_cc: of the GPU in use; counts for an image that says nothing.

    Raises:
        InputError: nothing says what the image promises, the plan is not the one it was built
            from, or names no real target.
        ImageError: its labels name none, or a cc that they promise no target for.
    """
    runtime = image.labels.get("envbuild.stage") == "runtime"
    cuda = (plan.cuda if plan else None) or image.labels.get("envbuild.cuda") or None
    base = Terms(
        stage="runtime" if runtime else "devel", cuda=cuda, lock=digest(lock) if lock else None
    )
    if lock:
        base = replace(
            base,
            wheels=Pairs(tuple((wheel.name, wheel.version) for wheel in lock.wheels)),
            apt=Pairs(tuple((package.name, package.version) for package in lock.apt)),
        )
    built = image.labels.get("envbuild.plan")
    if plan and built and built != digest(plan):
        what = f"{image.ref} was built from plan {built[:19]}, this is another plan"
        raise InputError(what, fix="give the plan it was built from, or none: it has labels")
    if cc:
        return _asked(base, cc, matrices, "flag")
    if plan and plan.promise:
        for target in plan.promise:
            if not _TARGET.fullmatch(target):
                what = f"the plan promises {target!r}, which is no target"
                raise InputError(what, fix="make it again: envbuild plan")
        return replace(base, cc=plan.cc, promise=plan.promise, gencode=plan.gencode, origin="plan")
    if image.labels.get("envbuild.promise"):
        return _labelled(base, image, matrices)
    if device_cc:
        return _asked(base, (device_cc,), matrices, "device")
    what = f"nothing says which GPUs {image.ref} is for"
    raise InputError(
        what,
        why="it has no envbuild.promise label, no plan was given, and there is no GPU here",
        fix="say it: --cc 8.6, or --plan plan.json",
    )


def toolkit_row(matrices: Matrices, version: str | None) -> Toolkit | None:
    """The row of a toolkit by any of its versions (``12.4``, ``12.4.131``)."""
    minor = ".".join((version or "").split(".")[:2])
    return next((row for row in matrices.toolkits if row.cuda == minor), None)


def cc_of_target(target: str) -> str:
    """``9.0`` of ``90a``."""
    number = target.rstrip("af")
    return f"{number[:-1]}.{number[-1]}"


def covers(promise: tuple[str, ...], cc: str) -> str | None:
    """The promised target whose machine code runs on a device of this cc.

    Same major, lower or equal minor; 'a' code on its own cc only, 'f' code within its family.
    """
    major, minor = (int(part) for part in cc.split("."))
    best: tuple[int, str] | None = None
    for target in promise:
        number = target.rstrip("af")
        its_major, its_minor = int(number[:-1]), int(number[-1])
        if its_major != major or its_minor > minor or (target[-1] == "a" and its_minor != minor):
            continue
        if best is None or its_minor > best[0]:
            best = (its_minor, target)
    return best[1] if best else None


def _labelled(base: Terms, image: Image, matrices: Matrices) -> Terms:
    """The terms that labels name, once they agree with each other."""
    promise = _words(image.labels.get("envbuild.promise"))
    for target in promise:
        if not _TARGET.fullmatch(target):
            what = f"{image.ref} promises {target[:40]!r} (label envbuild.promise)"
            raise ImageError(what, fix="a target is written 61 or 90a; or say it: --cc 6.1")
    said = _words(image.labels.get("envbuild.cc"))
    for cc in said:
        named = bool(set(_names(matrices, cc)) & set(promise))
        if not _CC.fullmatch(cc) or not (named or covers(promise, cc)):
            what = f"{image.ref} promises cc {cc[:40]!r} and no target of it"
            raise ImageError(what, fix="its labels envbuild.cc and envbuild.promise disagree")
    return replace(
        base,
        cc=said or tuple(dict.fromkeys(cc_of_target(target) for target in promise)),
        promise=promise,
        gencode=tuple(_gencode(target) for target in promise),
        origin="labels",
    )


def _asked(base: Terms, cc: tuple[str, ...], matrices: Matrices, origin: str) -> Terms:
    row = toolkit_row(matrices, base.cuda)
    promise = []
    for one in cc:
        names = _names(matrices, one)
        known = [name for name in names if row is None or name in row.targets]
        promise.append(known[0] if known else names[0])
    return replace(
        base,
        cc=cc,
        promise=tuple(promise),
        gencode=tuple(_gencode(target) for target in promise),
        origin=origin,
    )


def _names(matrices: Matrices, cc: str) -> tuple[str, ...]:
    """Targets that toolkits call this cc by: 11.0 is sm_110, and sm_101 in CUDA 12."""
    capability = next((c for c in matrices.capabilities if c.cc == cc), None)
    return (capability.target, *capability.aliases) if capability else (cc.replace(".", ""),)


def _gencode(target: str) -> str:
    return f"arch=compute_{target},code=[sm_{target},compute_{target}]"


def _words(text: str | None) -> tuple[str, ...]:
    words = (word.strip() for word in (text or "").split(","))
    return tuple(dict.fromkeys(word for word in words if word))
