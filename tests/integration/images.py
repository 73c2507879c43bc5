"""Looks through every byte of a built image: layers, config, history, manifests."""

import gzip
import io
import os
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

from envbuild.engines.base import Engine


def saved(engine: Engine, ref: str, file: Path) -> Path:
    """The image as ``save`` writes it."""
    facts = engine.probe()
    subprocess.run([str(facts.cli), "save", "-o", str(file), ref], check=True, env=os.environ)
    return file


def places(image: Path, needles: dict[str, bytes]) -> Iterator[tuple[str, str]]:
    """Where each text stands in a saved image: (name of the text, path in the image)."""
    with tarfile.open(image) as tar:
        for member in tar:
            blob = tar.extractfile(member) if member.isfile() else None
            if blob is None:
                continue
            data = blob.read()
            if data[:2] == b"\x1f\x8b":
                data = gzip.decompress(data)
            for name, needle in needles.items():
                if needle in member.name.encode() or needle in data:
                    yield name, member.name
            # A layer's tar is searched as one text above; long names and sparse files, here.
            if tarfile.is_tarfile(io.BytesIO(data)):
                with tarfile.open(fileobj=io.BytesIO(data)) as layer:
                    for inner in layer:
                        for name, needle in needles.items():
                            if needle in inner.name.encode():
                                yield name, f"{member.name}/{inner.name}"
