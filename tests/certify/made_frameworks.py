"""Frameworks that are made for tests: Python packages that do what a test says on import."""

import sys
from pathlib import Path

from envbuild.certify import run
from envbuild.certify.seen import Seen
from envbuild.matrix.load import load
from tests.certify import here

TORCH = """
from torch import version
__version__ = version.__version__

class _C:
    @staticmethod
    def _cuda_getArchFlags():
        return "{targets}"

class cuda:
    @staticmethod
    def is_available():
        return True

    def __getattr__(self, name):
        raise RuntimeError("{error}")

cuda = cuda()
manual_seed = lambda seed: None
"""


def fake(folder: Path, name: str, body: str) -> Path:
    """A framework of this name that does as ``body`` says when it is imported."""
    package = folder / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(body)
    return folder


def observed(driver: Path, modules: Path, targets: str, error: str, first: str = "") -> Seen:
    """A run of suite `torch` on this machine with a torch of these targets, whose CUDA fails so.

    Args:
        driver: folder of the made libcuda.
        modules: folder for the made torch.
        targets: what it says that it is built for.
        error: what everything of `torch.cuda` raises.
        first: Python that its import begins with.
    """
    fake(modules, "torch", first + TORCH.format(targets=targets, error=error))
    (modules / "torch/version.py").write_text("__version__, cuda = '2.8.0+cu128', '12.8'\n")
    (modules / "torch-2.8.0.dist-info").mkdir()
    (modules / "torch-2.8.0.dist-info/METADATA").write_text("Name: torch\nVersion: 2.8.0\n")
    python = str(Path(sys.executable).parent)
    env = {"PYTHONPATH": str(modules), "PATH": f"{python}:/usr/bin:/bin"}
    return run.observations(
        here.HereEngine(driver, env=env),
        here.image(stage="runtime", cc="9.0", promise="90"),
        host=here.HOST,
        matrices=load(),
        policy=run.Policy(require=("torch",)),
    )
