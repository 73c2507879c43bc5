"""Names of images: pinned, at a mirror, and as an engine knows what we fetched for it."""

import platform
import re
from pathlib import Path

from envbuild.errors import InputError
from envbuild.io.net import Net

LOCAL = "envbuild.local"


def digest_of(ref: str) -> str | None:
    """``sha256:...`` of a reference that is pinned, else None."""
    return ref.partition("@")[2] or None


def repository(ref: str) -> str:
    """The reference without its tag and digest."""
    name = ref.split("@", 1)[0]
    return name.rsplit(":", 1)[0] if ":" in name.rsplit("/", 1)[-1] else name


def archive(ref: str) -> Path | None:
    """The file that a name means in place of an image: ``/a/FILE``, ``./FILE`` or ``FILE.tar``."""
    path = Path(ref)
    wanted = path.is_absolute() or ref.startswith("./") or path.suffix == ".tar"
    return path if wanted and path.is_file() else None


def refuse_file(ref: str) -> None:
    """Refuse what can only be a file that no engine certifies, before a registry is asked for it.

    Raises:
        InputError: it is a SIF file, or the archive that it names is not there.
    """
    path = Path(ref)
    named = ref.startswith(("/", "./", "../")) or "/" not in ref
    if path.suffix == ".sif" and (named or path.is_file()):
        what = f"{ref} is a SIF file: it holds no digest of the image that it was made of"
        fix = "name the OCI archive or the registry's image behind it: envbuild build -o FILE.tar"
        raise InputError(what, fix=f"{fix}; `apptainer run --nv` runs a SIF file by itself")
    if path.suffix == ".tar" and named and not path.exists():
        what = f"there is no archive {ref}"
        raise InputError(what, fix="envbuild build -o FILE writes one")


def mirrored(ref: str, net: Net) -> str | None:
    """The same image at the mirror, None where it does not serve it; a digest wins over a tag."""
    from envbuild.io import oci

    wanted = oci.parse(ref)
    place = oci.at_mirror(wanted, net)
    if place == wanted:
        return None
    end = f"@{place.digest}" if place.digest else f":{place.tag}"
    return f"{place.registry}/{place.repository}{end}"


def local_base(digest: str) -> str:
    """The engine's name for a platform manifest that we fetched; builds start from it."""
    return f"{LOCAL}/base:{digest.removeprefix('sha256:')}"


def local_names(ref: str) -> tuple[str, ...]:
    """Every name under which an engine may know the image of a reference, likeliest first."""
    digest = digest_of(ref)
    return (ref, local_base(digest), local_index(digest)) if digest else (ref,)


def local_index(digest: str) -> str:
    """The engine's name for what an index of many platforms meant here."""
    return f"{LOCAL}/index:{digest.removeprefix('sha256:')}"


def rebase(dockerfile: bytes, ref: str, name: str) -> bytes:
    """The Dockerfile with ``FROM ref`` read as ``FROM name``; nothing else changes."""
    pattern = rb"(?mi)^(FROM\s+(?:--platform=\S+\s+)?)" + re.escape(ref.encode()) + rb"(?=\s|$)"
    return re.sub(pattern, lambda m: m.group(1) + name.encode(), dockerfile)


def platform_here() -> str:
    """The platform of containers on this machine, ``linux/amd64``; Windows spells it AMD64."""
    from envbuild.render.view import PLATFORMS

    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower())
    machine = machine or platform.machine()
    return PLATFORMS.get(machine, f"linux/{machine}")
