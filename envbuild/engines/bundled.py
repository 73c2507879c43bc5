"""A build from a bundle: its files are mounted in each step, and nothing else is asked."""

import json
import os
import re
import shutil
import tarfile
from io import BytesIO
from pathlib import Path

from envbuild.engines import names
from envbuild.engines.wheels import sha256
from envbuild.errors import InputError, StaleError
from envbuild.io import files
from envbuild.io.ociarchive import Index, Manifest, decoded, place
from envbuild.values.codec import digest, load
from envbuild.values.image import BuildContext
from envbuild.values.lock import Lock, LockBundle

#: Parts of a bundle.
MANIFEST, LOCK = "bundle.json", "envbuild.lock"
BASE, DEBS, WHEELS, TOOLKIT = "base", "debs", "wheels", "toolkit"
#: Its name in a build context, and where a step sees it.
SOURCE, _TARGET = "bundle", "/run/bundle"


def check(folder: Path, lock: Lock) -> None:
    """The bundle is of this lock, whole, and each file has its hash.

    Raises:
        InputError: it is none, or not whole.
        StaleError: it is of another lock, or holds other bytes.
    """
    found = load(LockBundle, files.read(folder / MANIFEST), str(folder / MANIFEST))
    again = f"envbuild lock --bundle {folder}"
    if found.lock != digest(lock):
        what = f"{folder} is a bundle of another lock"
        raise StaleError(what, fix=f"build with --lock {folder / LOCK}, or complete it: {again}")
    for file in found.files:
        path = folder / file.path
        if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
            what = f"{folder} is not whole: {file.path} is not there"
            raise InputError(what, fix=f"complete it: {again}")
        if path.stat().st_size != file.size or sha256(path) != file.sha256:
            what = f"{path} holds other bytes than the bundle's manifest names"
            raise StaleError(what, fix=f"fetch it again: {again}")


def secrets(context: BuildContext) -> dict[str, bytes]:
    """What tells apt, pip and the unpacking to look in the bundle alone."""
    texts = {
        "apt_sources": f"deb [trusted=yes] copy:{_TARGET}/{DEBS} ./\n",
        "toolkit_mirror": f"copy:{_TARGET}/{TOOLKIT}\n",
        "pip_conf": f"[global]\nno-index = true\nfind-links = {_TARGET}/{WHEELS}\n",
    }
    return {name: text.encode() for name, text in texts.items() if name in context.secrets}


def mounted(dockerfile: bytes) -> bytes:
    """The Dockerfile with the bundle in each step that fetches; no layer, no history shows it."""
    mount = f"RUN --mount=type=bind,source={SOURCE},target={_TARGET} ".encode()
    return re.sub(rb"(?m)^RUN (?=--mount=type=secret,)", lambda _: mount, dockerfile)


def lay(folder: Path, context: Path) -> None:
    """Put the bundle's files, but for the base, into a context on disk; linked where that can be.

    Raises:
        OSError: no room.
    """
    for part in (DEBS, WHEELS, TOOLKIT):
        for path in (folder / part).rglob("*"):
            target = context / SOURCE / path.relative_to(folder)
            if path.is_dir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(path, target)
            except OSError:
                shutil.copyfile(path, target)
    ignore = context / ".dockerignore"
    if ignore.is_file():
        with ignore.open("a", encoding="utf-8") as f:
            f.write(f"!{SOURCE}\n")


def image(folder: Path, ref: str, file: Path) -> None:
    """One base of the bundle as a tar that old and new engines load, under our local name.

    Args:
        folder: the bundle, checked.
        ref: the pinned reference.
        file: the tar.

    Raises:
        InputError: the bundle does not have it.
    """
    layout = folder / BASE
    wanted = names.digest_of(ref) or ""
    name = names.local_base(wanted)
    index = decoded(files.read(layout / "index.json"), Index, layout)
    listed = next((one for one in index.manifests if one.digest == wanted), None)
    if listed is None:
        what = f"{folder} does not have {ref}"
        raise InputError(what, fix=f"complete it: envbuild lock --bundle {folder}")
    data = files.read(layout / place(wanted))
    manifest = decoded(data, Manifest, layout)
    entry = {
        "mediaType": listed.media_type,
        "digest": wanted,
        "size": len(data),
        "annotations": {"io.containerd.image.name": name},
    }
    layers = [place(layer.digest) for layer in manifest.layers]
    config = place(manifest.config.digest)
    old = [{"Config": config, "RepoTags": [name], "Layers": layers}]
    with tarfile.open(file, "w") as tar:
        for path, value in (
            ("oci-layout", {"imageLayoutVersion": "1.0.0"}),
            ("index.json", {"schemaVersion": 2, "manifests": [entry]}),
            ("manifest.json", old),
        ):
            text = json.dumps(value).encode()
            info = tarfile.TarInfo(path)
            info.size = len(text)
            tar.addfile(info, BytesIO(text))
        for path in dict.fromkeys((place(wanted), config, *layers)):
            tar.add(layout / path, path)
