"""What `certify` signs, and where it puts it."""

from pathlib import Path
from typing import TYPE_CHECKING

from envbuild.cli import show
from envbuild.errors import InputError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from envbuild.attest.publish import Signed
    from envbuild.engines.find import Found
    from envbuild.io.net import Net
    from envbuild.io.oci import Manifest
    from envbuild.values.image import Image


def signer(path: Path | None, *, attach: bool, no_image: bool) -> "Ed25519PrivateKey | None":
    """The key to sign with, read before anything runs."""
    from envbuild.attest import dsse
    from envbuild.io import files

    if path is None and not attach:
        return None
    if path is None or no_image:
        what = (
            "--attach attaches what is signed" if path is None else "only an image's run is signed"
        )
        raise InputError(what, fix="envbuild certify IMAGE --sign key.pem [--attach]")
    return dsse.signing_key(files.read(path), str(path))


def node(name: str | None) -> str | None:
    """What a certificate calls this machine: as it is told, else its host name; '' = nothing."""
    import platform

    from envbuild.attest import nodes

    return nodes.named(platform.node() if name is None else name)


def place(found: "Found", image: "Image", net: "Net", *, attach: bool) -> "Manifest | None":
    """Where what is signed is attached; refused before anything runs where it cannot be."""
    from envbuild.attest.publish import in_registry

    if found.engine.name == "local":
        what = "a folder of this machine is no image: nobody else could have what is signed"
        raise InputError(what, fix="sign the certificate of an image: --engine docker, or podman")
    return in_registry(image, net) if attach else None


def publish(
    made: "tuple[Signed, ...]", path: Path, ref: str, where: "Manifest | None", net: "Net"
) -> None:
    """Keep what was signed, and attach it where the image is."""
    from envbuild.attest.publish import attach
    from envbuild.io import files

    files.write(path, b"".join(one.envelope + b"\n" for one in made))
    show.note(f"signed    {path}")
    if where is not None:
        attach(ref, where, made, net)
        show.note(f"attached  {len(made)} statements to {where.digest}")
