"""The archives of `tests.lock.vendor`, served on this machine, and a small plan that asks them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from envbuild.values.codec import Pairs, replace
from envbuild.values.plan import Layout, Plan
from tests.lock import serving, vendor
from tests.render import plans


class Shop(NamedTuple):
    """The served folder, its address, and the key that signs the repository in it."""

    root: Path
    mirror: str
    key: vendor.Signer


@contextmanager
def stocked(folder: Path, files: vendor.Files, pem: Path | None = None) -> Iterator[Shop]:
    """All three archives, served; by TLS where a certificate is given."""
    key = vendor.signer(folder / "key")
    root = folder / "served"
    vendor.apt(root, files, key)
    vendor.redist(root, files)
    vendor.conda(root, files)
    with serving.served(root, pem) as mirror:
        yield Shop(root, mirror, key)


def small_plan(kind: str, shop: Shop) -> Plan:
    """A plan without a host compiler, so that little is installed."""
    plan = {"apt": plans.APT, "redist": plans.REDIST, "conda": plans.CONDA}[kind]
    tools = tuple(name for name in plan.apt if name not in {"g++", "cuda-toolkit-12-9"})
    archive = replace(plan.layout.archive, key=shop.key.fingerprint if kind == "apt" else "")
    return replace(
        plan,
        cuda="12.4.1",
        layout=Layout(archive=archive),
        env=Pairs({"CUDA_HOME": "/usr/local/cuda"}),
        apt=(*tools, "cuda-toolkit-12-4") if kind == "apt" else tools,
        host_compiler=None,
    )
