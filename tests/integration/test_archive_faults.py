"""A server of the toolkit's archives that is out of order: the build ends, and says what it was.

The vendor's hosts were never asked: see `tests.lock.vendor`.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from envbuild.engines.find import make
from envbuild.errors import EnvbuildError, MachineError, StaleError
from envbuild.io.net import Net
from envbuild.lock.make import lock
from envbuild.render.context import render
from envbuild.values.image import BuildContext
from tests.integration.shop import Shop, small_plan, stocked
from tests.lock import vendor

pytestmark = [pytest.mark.engine, pytest.mark.apart]


class Fault(NamedTuple):
    """What happens at the server between lock and build, and what must be said of it."""

    kind: str
    change: Callable[[Shop], None]
    error: type[EnvbuildError]
    says: str


def _file(shop: Shop, name: str) -> Path:
    return next(path for path in sorted(shop.root.rglob(name)))


def _other(shop: Shop, name: str) -> None:
    path = _file(shop, name)
    path.write_bytes(path.read_bytes()[::-1])


def _cut(shop: Shop, name: str) -> None:
    path = _file(shop, name)
    path.write_bytes(path.read_bytes()[:-9])


def _resigned(shop: Shop) -> None:
    stranger = vendor.signer(shop.root.parent / "stranger")
    vendor.release(shop.root / vendor.REPOSITORY, stranger)
    shutil.rmtree(shop.root.parent / "stranger")


NVCC, CONDA_NVCC = "cuda_nvcc-*.xz", "cuda-nvcc-impl-12.4*"
FAULTS = {
    "redist other bytes": Fault("redist", lambda s: _other(s, NVCC), StaleError, "Hash Sum"),
    "redist cut": Fault("redist", lambda s: _cut(s, NVCC), StaleError, "Hash Sum"),
    "redist gone": Fault("redist", lambda s: _file(s, NVCC).unlink(), StaleError, "404"),
    "conda other bytes": Fault("conda", lambda s: _other(s, CONDA_NVCC), StaleError, "Hash Sum"),
    "apt other key": Fault("apt", lambda s: _other(s, "3bf863cc.pub"), StaleError, "Hash Sum"),
    "apt other package": Fault(
        "apt", lambda s: _other(s, "cuda-nvcc-12-4_*"), StaleError, "Hash Sum"
    ),
    "apt other signer": Fault("apt", _resigned, StaleError, "not signed|NO_PUBKEY"),
    "apt no index": Fault("apt", lambda s: _file(s, "InRelease").unlink(), MachineError, "Release"),
}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    # Never the same bytes twice: a step whose files were seen before comes from the cache.
    with stocked(tmp_path, vendor.tiny() | {"nvvm/unique": os.urandom(16)}) as shop:
        yield shop


def locked(kind: str, shop: Shop, registry: str) -> tuple[BuildContext, Net]:
    net = Net(registry_mirror=registry, toolkit_mirror=shop.mirror, network="host")
    plan = small_plan(kind, shop)
    return render(plan, lock(plan, net, make("docker"))), net


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_at_the_server_ends_the_build_by_name(name: str, shop: Shop, registry: str) -> None:
    fault = FAULTS[name]
    if fault.kind == "conda":
        pytest.importorskip("rattler")
    context, net = locked(fault.kind, shop, registry)
    fault.change(shop)
    engine = make("docker")
    tag = f"envbuild-test/fault-{hashlib.sha256(os.urandom(8)).hexdigest()[:8]}:1"
    with pytest.raises(fault.error, match=fault.says) as error:
        engine.build(context, tag, net)
    assert "hunter2" not in str(error.value)
    assert engine.inspect(tag) is None


def test_an_archive_that_leads_out_of_its_folder_is_refused_in_the_build(
    shop: Shop, registry: str
) -> None:
    path = _file(shop, "cuda_cccl-*.xz")
    top = path.name.removesuffix(".tar.xz")
    data = vendor.tar({f"{top}/lib": "/etc", f"{top}/lib/evil": b"1"}, "xz")
    index = _file(shop, "redistrib_*.json")
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_bytes(data)
    index.write_text(index.read_text().replace(before, hashlib.sha256(data).hexdigest()))
    context, net = locked("redist", shop, registry)
    with pytest.raises(StaleError, match=f"{top}.tar.xz holds"):
        make("docker").build(context, "envbuild-test/evil:1", net)
