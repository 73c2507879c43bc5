"""What a certificate is about, and the reference that the run must use so that it is true."""

from envbuild.certify.steps import Runner
from envbuild.engines.names import repository as repository
from envbuild.errors import MachineError, StaleError
from envbuild.values.certificate import Subject
from envbuild.values.image import Image


def subject(engine: Runner, image: Image, lock: str | None) -> tuple[Subject, str]:
    """The subject, and the reference to run.

    With a known manifest digest the run uses ``repo@digest``, if the engine has the image under
    it. Without one (not pushed) the subject is the config digest with its layers, and the run
    uses the digest as the image's name where the engine takes that.
    """
    if engine.name == "local":
        return Subject(kind="prefix", name=image.ref, digest=image.config, lock=lock), image.ref
    if not image.config:
        return Subject(kind="rootfs", name=image.ref), image.ref
    repo = repository(image.ref)
    if image.manifest:
        ref = f"{repo}@{image.manifest}"
        if _same(engine.inspect(ref), image):
            return Subject(kind="manifest", name=repo, digest=image.manifest, lock=lock), ref
    ref = image.config if _same(engine.inspect(image.config), image) else image.ref
    by_config = Subject(
        kind="config", name=image.ref, digest=image.config, diff_ids=image.diff_ids, lock=lock
    )
    return by_config, ref


def confirm(engine: Runner, image: Image, ref: str) -> None:
    """After the run: ``ref``, and the name it was asked for by, are still the same image.

    Raises:
        StaleError: one of them names another image now.
    """
    for name in dict.fromkeys((ref, image.ref)):
        if not _same(engine.inspect(name), image):
            what = f"{name} was changed while it was certified"
            raise StaleError(what, fix="run envbuild certify again")


def check_platform(image: Image, machine: str) -> None:
    """The image runs on this machine's processor.

    Raises:
        MachineError: it is for another architecture.
    """
    arch = architecture(image)
    own = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    if arch != own:
        what = f"{image.ref} is for {arch}, this machine is {own}"
        raise MachineError(what, fix=f"certify it on a machine of {arch}")


def architecture(image: Image) -> str:
    """``x86_64`` or ``aarch64``, or the platform's own word."""
    word = image.platform.split("/")[1] if "/" in image.platform else image.platform
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(word, word)


def _same(found: Image | None, image: Image) -> bool:
    return found is not None and found.config == image.config
