"""How an image came to be: SLSA provenance v1, from the values alone.

Form: https://slsa.dev/spec/v1.0/provenance. ``docs/trust.md`` documents the build type. Nothing of
the network is in it: mirrors, proxies and credentials are in no value that it is made from.
"""

from collections.abc import Iterator

from envbuild import __version__
from envbuild.attest import purl
from envbuild.errors import StaleError
from envbuild.values.codec import digest, dump_line
from envbuild.values.image import Image
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan

BUILD_TYPE = "urn:envbuild:build:1"

Dependency = dict[str, object]
"""What SLSA calls a ResourceDescriptor."""


def provenance(plan: Plan, lock: Lock, image: Image, engine: str, version: str | None) -> bytes:
    """The predicate; equal input, equal bytes.

    Args:
        plan: what was asked for, and decided.
        lock: every byte that came from outside.
        image: what was built from them, as its labels must say.
        engine: what built it: ``docker`` or ``podman``.
        version: of the engine, None = not known.

    Raises:
        StaleError: the image was not built from this plan and this lock.
    """
    check_made(image, plan, lock)
    versions = {"envbuild": __version__} | ({engine: version} if version else {})
    made = {
        "buildDefinition": {
            "buildType": BUILD_TYPE,
            "externalParameters": {"request": plan.request},
            "internalParameters": {
                "plan": digest(plan),
                "lock": digest(lock),
                "matrix": plan.matrix,
                "stage": stage(image),
                "platform": image.platform,
            },
            "resolvedDependencies": list(_dependencies(plan, lock)),
        },
        # No metadata: an invocationId and times name one run, and two runs of the same lock
        # must say the same of the same image.
        "runDetails": {"builder": {"id": f"urn:envbuild:builder:{engine}", "version": versions}},
    }
    return dump_line(made)


def check_made(image: Image, plan: Plan, lock: Lock) -> None:
    """The image's labels name this plan and this lock.

    Raises:
        StaleError: they do not; what is said of it would be untrue.
    """
    for label, value in (("envbuild.plan", plan), ("envbuild.lock", lock)):
        if image.labels.get(label) != digest(value):
            what = f"{image.ref} was not built from this {label.removeprefix('envbuild.')}"
            raise StaleError(what, fix="build it again: envbuild build")


def stage(image: Image) -> str:
    """``devel`` or ``runtime``: the stage that the image is."""
    return image.labels.get("envbuild.stage") or "devel"


def _dependencies(plan: Plan, lock: Lock) -> Iterator[Dependency]:
    """Everything the lock names, in its order."""
    for base in filter(None, (lock.base, lock.runtime)):
        sha256 = base.digest.removeprefix("sha256:")
        yield _dependency(base.ref, purl.image(base), sha256)
    system, archive = purl.system(plan.image.os), plan.layout.archive
    for package in lock.apt:
        uri = purl.deb(package.name, package.version, package.arch, system)
        more = {"archive": package.archive} if package.archive else {}
        yield _dependency(package.name, uri, package.sha256, **more)
    for wheel in lock.wheels:
        yield _dependency(wheel.file, purl.wheel(wheel), wheel.sha256, index=wheel.index)
    name = archive.name if archive else ""
    for part in lock.parts:
        yield _dependency(part.path, purl.part(part, name), part.sha256, archive=name)
    if lock.key:
        fingerprint = lock.key.fingerprint
        yield _dependency(lock.key.file, "", lock.key.sha256, fingerprint=fingerprint)


def _dependency(name: str, uri: str, sha256: str, **annotations: str) -> Dependency:
    """Older locks know no hash of a package; a key has no address of its own."""
    made: Dependency = {"name": name}
    if uri:
        made["uri"] = uri
    if sha256:
        made["digest"] = {"sha256": sha256}
    if annotations:
        made["annotations"] = annotations
    return made
