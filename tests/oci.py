"""OCI archives made in a test: small, and as wrong as the test wants them."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path


def entry(name: str, data: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    """A file of a layer; ``fields`` are of its header (mode, uid, mtime, type, linkname)."""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def layer(*entries: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """The bare tar of a layer."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for info, data in entries:
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def archive(
    path: Path,
    layers: Sequence[bytes],
    *,
    level: int = 6,
    created: str = "2026-12-01T00:00:00Z",
    spoil: str = "",
) -> Path:
    """Write an archive of one image.

    Args:
        path: the file.
        layers: bare tars, bottom first; each is made by ``RUN step N``.
        level: of gzip: what another engine version would do otherwise.
        created: of the config.
        spoil: ``layer``, ``config``, ``manifest`` or ``diff_id``: what is not as its digest says;
            ``count``: the config names a layer more.
    """
    packed = [gzip.compress(data, level, mtime=0) for data in layers]
    ids = [digest(data if spoil != "diff_id" else data + b"x") for data in layers]
    ids += ids[:1] if spoil == "count" else []
    steps = [{"created_by": f"RUN step {n}"} for n in range(1, len(layers) + 1)]
    config = {
        "architecture": "amd64",
        "os": "linux",
        "created": created,
        "rootfs": {"type": "layers", "diff_ids": ids},
        "history": [*steps, {"created_by": "USER 1000", "empty_layer": True}],
    }
    settings = json.dumps(config).encode()
    kind = "application/vnd.oci.image"
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "config": {"mediaType": f"{kind}.config.v1+json", "digest": digest(settings)},
            "layers": [
                {"mediaType": f"{kind}.layer.v1.tar+gzip", "digest": digest(data)}
                for data in packed
            ],
        }
    ).encode()
    listed = [{"mediaType": f"{kind}.manifest.v1+json", "digest": digest(manifest)}]
    files = {"index.json": json.dumps({"schemaVersion": 2, "manifests": listed}).encode()}
    named = {"config": [settings], "manifest": [manifest], "layer": packed}
    for name, blobs in named.items():
        for data in blobs:
            place = f"blobs/sha256/{digest(data).removeprefix('sha256:')}"
            files[place] = data if spoil != name else data + b" "
    path.write_bytes(layer(*(entry(name, data) for name, data in files.items())))
    return path
