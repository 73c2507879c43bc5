#!/usr/bin/env python3
"""How large images are: as a registry sends them (gzip), and unpacked.

usage: python benchmarks/sizes.py [--engine docker|podman] IMAGE...

Each is read as the engine saves it. What is packed there is unpacked first: engines pack with
different effort, and this is gzip's default for all, which is what docker pushes.
"""

import argparse
import gzip
import subprocess
import sys
import tarfile
import tempfile
import zlib
from pathlib import Path
from typing import IO, cast

_PIECE = 1 << 20
_GZIP = b"\x1f\x8b"


def layer(file: IO[bytes]) -> tuple[int, int]:
    """Bytes of a layer: its bare tar, and that tar with gzip's default effort."""
    start = file.read(2)
    file.seek(0)
    bare = cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if start == _GZIP else file
    packer, plain, packed = zlib.compressobj(wbits=31), 0, 0
    while piece := bare.read(_PIECE):
        plain += len(piece)
        packed += len(packer.compress(piece))
    return plain, packed + len(packer.flush())


def measured(engine: str, ref: str) -> tuple[int, int, int]:
    """Layers of an image, its bytes unpacked, and its bytes packed."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        saved = Path(folder) / "image.tar"
        subprocess.run([engine, "save", "-o", str(saved), ref], check=True)
        sizes = []
        with tarfile.open(saved) as tar:
            for member in tar:
                file = tar.extractfile(member) if member.isfile() else None
                if file is not None and is_layer(member.name, file):
                    sizes.append(layer(file))
    return len(sizes), sum(one[0] for one in sizes), sum(one[1] for one in sizes)


def is_layer(name: str, file: IO[bytes]) -> bool:
    """Old engines name layers; new ones keep every blob under its digest."""
    if name.endswith("layer.tar"):
        return True
    start = file.read(512)
    file.seek(0)
    return name.startswith("blobs/") and (start[:2] == _GZIP or start[257:262] == b"ustar")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--engine", default="docker")
    parser.add_argument("images", nargs="+")
    wanted = parser.parse_args()
    for ref in wanted.images:
        count, plain, packed = measured(wanted.engine, ref)
        print(f"{ref:48}{count:3} layers{packed / 1e6:9.0f} MB{plain / 1e6:9.0f} MB unpacked")
    return 0


if __name__ == "__main__":
    sys.exit(main())
