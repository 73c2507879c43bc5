"""An engine for tests: this machine without a container, and a GPU that is made.

With a GPU access mode the libcuda of `fake_cuda.c` is put in front of the loader, as a container
toolkit would do; nothing measured on it is a figure.
"""

import os
import subprocess
from pathlib import Path

from envbuild.engines.base import Mount, RunSpec
from envbuild.io import proc
from envbuild.values.codec import Pairs
from envbuild.values.host import Driver, EngineFacts, Gpu, Host, Tool
from envbuild.values.image import Image
from tests import toolkit

ROOT = Path(__file__).resolve().parents[2]
HOST = Host(
    kind="made",
    gpus=(Gpu(name="made for tests", uuid="GPU-fafafafa-fafa-fafa-fafa-fafafafafafa", cc="9.0"),),
    driver=Driver(version="580.0.0", cuda="13.0"),
    container_toolkit=Tool(name="nvidia-container-toolkit", version="1.20.0"),
)
#: Where docker answers on this machine: no image is a stranger's to a toolkit of today.
SOCKET = "/var/run/docker.sock"
NO_GPU = Host(kind="made")
#: The environment of an image that holds this machine's toolkit.
TOOLKIT = {
    "PATH": f"{toolkit.HOME}/bin:/usr/bin:/bin",
    "LD_LIBRARY_PATH": f"{toolkit.HOME}/lib64",
}
DIGEST = "sha256:" + "b" * 64


def image(**labels: str) -> Image:
    """A made image whose inside is this machine."""
    named = {f"envbuild.{name}": text for name, text in labels.items()}
    return Image(ref="made/here:1", config=DIGEST, platform="linux/amd64", labels=Pairs(named))


def fake_libcuda(folder: Path) -> Path:
    """The folder that holds the compiled fake driver."""
    here = Path(__file__).parent
    sources = [
        here / f"fake_{part}.c" for part in ("cuda", "fast", "correct", "products", "several")
    ]
    sources.append(ROOT / "kernels" / "runner" / "numbers.c")
    argv = ["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*argv, "-o", folder / "libcuda.so.1", *sources, "-lm"], check=True)
    return folder


def fake_cublas(folder: Path) -> Path:
    """The same folder, which then holds a made cuBLAS, too."""
    numbers = ROOT / "kernels" / "runner" / "numbers.c"
    argv = ["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    for name in ("libcublas.so.13", "libcublasLt.so.13"):
        source = Path(__file__).with_name("fake_cublas.c")
        subprocess.run([*argv, "-o", folder / name, source, numbers, "-ldl", "-lm"], check=True)
    return folder


class HereEngine:
    """Runs commands on this machine; the rest of the protocol is never asked.

    Args:
        driver: folder of the made libcuda.
        fake: how it misbehaves.
        env: the image's own environment.
    """

    name = "docker"

    def __init__(self, driver: Path, fake: str = "", env: dict[str, str] | None = None) -> None:
        self.driver = driver
        self.fake = fake
        self.env = {"PATH": "/usr/bin:/bin"} | (env or {})
        self.specs: list[RunSpec] = []

    def probe(self) -> EngineFacts:
        access = ("cdi", "gpus")
        return EngineFacts(
            name=self.name, version="made", answers=True, access=access, endpoint=SOCKET
        )

    def inside(self, mount: Mount) -> str:
        return mount.source

    def inspect(self, ref: str) -> Image | None:
        return image() if ref in {"made/here:1", DIGEST} else None

    def run(self, ref: str, spec: RunSpec) -> proc.Completed:
        assert self.inspect(ref)
        self.specs.append(spec)
        env = {**self.env, **dict(spec.env)}
        if spec.access != "none":
            old = env.get("LD_LIBRARY_PATH")
            env["LD_LIBRARY_PATH"] = f"{self.driver}:{old}" if old else str(self.driver)
            env["ENVBUILD_FAKE"] = self.fake
        return proc.run(spec.argv, timeout=spec.timeout, env=env, cwd=os.sep)
