"""Images of a registry in a folder: an OCI layout, each blob in it checked by its digest."""

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path

from envbuild.io import files, oci
from envbuild.io.net import Net
from envbuild.io.ociarchive import place


def write(
    layout: Path,
    images: Iterable[tuple[str, oci.Manifest]],
    net: Net,
    say: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Fetch what is not there yet; a blob comes whole or not at all.

    Args:
        layout: the folder.
        images: each with the name that it has in the layout.
        net: mirror, CA.
        say: gets a line for each blob that is fetched.

    Returns:
        Every file of the layout.

    Raises:
        MachineError: the registry does not answer, or no longer has a part.
        StaleError: it sends other bytes than a digest names.
        OSError: no room, or the folder cannot be written.
    """
    found, listed = [], []
    for name, manifest in images:
        data = oci.document(manifest, net)
        at = layout / place(manifest.digest)
        files.write(at, data)
        found.append(at)
        for digest in (manifest.config, *(layer for _, layer in manifest.layers)):
            found.append(at := layout / place(digest))
            if not (at.is_file() and f"sha256:{_sha256(at)}" == digest):
                say(f"fetch     {name} {digest[:19]}")
                _fetch(manifest.reference, digest, at, net)
        annotations = {"org.opencontainers.image.ref.name": name}
        descriptor = {"mediaType": manifest.media_type, "digest": manifest.digest}
        listed.append({**descriptor, "size": len(data), "annotations": annotations})
    files.write(layout / "oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
    index = {"schemaVersion": 2, "manifests": listed}
    files.write(layout / "index.json", json.dumps(index).encode())
    return [*found, layout / "oci-layout", layout / "index.json"]


def _fetch(reference: oci.Reference, digest: str, at: Path, net: Net) -> None:
    """A blob, whole or not at all: `oci.blob` checks it at its end."""
    part = at.with_name(f".{at.name}.part")
    try:
        with part.open("wb") as f:
            for piece in oci.blob(reference, digest, net):
                f.write(piece)
        part.replace(at)
    finally:
        part.unlink(missing_ok=True)


def _sha256(path: Path) -> str:
    sha = hashlib.sha256()
    with path.open("rb") as f:
        while block := f.read(1 << 20):
            sha.update(block)
    return sha.hexdigest()
