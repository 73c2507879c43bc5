"""Makes the stand-ins for the vendor's image and its OS, and puts them into the mirror."""

import hashlib
import os
import subprocess
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

from envbuild.io import pip
from envbuild.io.net import Net
from envbuild.matrix.load import load

HERE = Path(__file__).parent
TAG = "12.4.1-devel-ubuntu22.04"
VENDOR, SYSTEM = f"nvidia/cuda:{TAG}", "library/ubuntu:22.04"
_RECIPE = ("Dockerfile", "compat.control", "made.c", "nvcc.profile", "requirements.txt", "make.py")


def ensure(registry: str, docker: str, folder: Path) -> None:
    """The mirror serves both stand-ins of today's recipe; they are made where it does not.

    Args:
        registry: ``host:port`` of the mirror, which holds the Debian bases.
        docker: a client that holds BuildKit.
        folder: empty, for the build context.
    """
    recipe = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in _RECIPE))
    mark = f"nvidia/cuda:standin-{recipe.hexdigest()[:16]}"
    if served(registry, mark):
        return
    for name in _RECIPE:
        (folder / name).write_bytes((HERE / name).read_bytes())
    _wheels(folder)
    for stage, names in (("os", [SYSTEM]), ("vendor", [VENDOR, mark])):
        tags = [f"{registry}/{name}" for name in names]
        argv = [docker, "build", "--quiet", "--target", stage]
        for text in (
            f"OS={registry}/library/debian:bookworm-slim",
            f"ARCHIVE={registry}/library/debian:trixie-slim",
            f"REQUIRE={requirement()}",
        ):
            argv += ["--build-arg", text]
        for tag in tags:
            argv += ["--tag", tag]
        subprocess.run([*argv, str(folder)], check=True, env=_environment())
        for tag in tags:
            subprocess.run([docker, "push", "--quiet", tag], check=True, env=_environment())
        subprocess.run([docker, "rmi", *tags], check=True, env=_environment(), capture_output=True)


def served(registry: str, name: str) -> bool:
    """Whether the registry has it."""
    repository, _, tag = name.partition(":")
    url = f"http://{registry}/v2/{repository}/manifests/{tag}"
    accept = "application/vnd.docker.distribution.manifest.v2+json"
    request = urllib.request.Request(url, headers={"Accept": accept}, method="HEAD")
    try:
        urllib.request.urlopen(request, timeout=10).close()  # noqa: S310
    except urllib.error.HTTPError as e:
        e.close()
        return False
    return True


def requirement() -> str:
    """``NVIDIA_REQUIRE_CUDA`` as the vendor spells it, from the matrix row of this tag."""
    rows = load().images
    row = next(r for r in rows if (r.cuda, r.os) == ("12.4.1", "ubuntu22.04"))
    older = [
        f"brand={brand},driver>={branch},driver<{branch + 1}"
        for branch in row.require_branches
        for brand in row.require_brands
    ]
    return " ".join([f"cuda>={row.require}", *older])


def _wheels(folder: Path) -> None:
    argv = [*pip.command(), "download", "--quiet", "--no-deps", "--require-hashes", "--dest"]
    argv += [str(folder), "--requirement", str(folder / "requirements.txt")]
    subprocess.run(argv, check=True, env=pip.environment(Net()))
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(folder / "wheels")
        wheel.unlink()


def _environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k != "DOCKER_HOST"} | {"DOCKER_BUILDKIT": "1"}
