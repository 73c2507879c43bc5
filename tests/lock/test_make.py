"""The lock of a plan: complete, free of this network, readable, and known when it is stale."""

import json
from pathlib import Path

import pytest

from envbuild.certify import probes
from envbuild.engines.local import LocalEngine
from envbuild.errors import MachineError, NoPlanError, StaleError
from envbuild.io.net import Net
from envbuild.lock import apt, make
from envbuild.lock.text import dump_lock
from envbuild.render import templates
from envbuild.values.codec import Pairs, load, replace
from envbuild.values.lock import AptPackage, Lock, Wheel
from envbuild.values.plan import Plan, TorchChoice
from tests.lock.server import Server, layer, push
from tests.render import locks, plans

APT = apt.Closure(
    (AptPackage(name="gcc", version="4:12", arch="amd64"),),
    ("bookworm main",),
    snapshot="20261201T000000Z",
)


@pytest.fixture
def plain(server: Server) -> Net:
    """Both bases of the image plan, at a mirror."""
    push(server, "nvidia/cuda", "12.4.1-devel-ubuntu22.04", layer({"a": b"1"}))
    push(server, "library/ubuntu", "22.04", layer({"b": b"1"}))
    return Net(registry_mirror=server.host)


def test_both_bases_are_pinned_under_their_own_names(server: Server, plain: Net) -> None:
    made = make.lock(plans.IMAGE, plain)
    assert made.base is not None
    assert made.runtime is not None
    assert (made.base.ref, made.runtime.ref) == (
        "docker.io/nvidia/cuda:12.4.1-devel-ubuntu22.04",
        "docker.io/library/ubuntu:22.04",
    )
    assert made.base.digest != made.runtime.digest
    assert (made.apt, made.wheels) == ((), ())


def test_nothing_of_the_network_is_in_it(server: Server, plain: Net) -> None:
    text = dump_lock(make.lock(plans.IMAGE, plain)).decode()
    assert server.host not in text
    assert "127.0.0.1" not in text


def test_equal_answers_give_equal_bytes(plain: Net) -> None:
    assert dump_lock(make.lock(plans.IMAGE, plain)) == dump_lock(make.lock(plans.IMAGE, plain))


def test_packages_are_asked_of_the_pinned_base(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = push(server, "library/debian", "bookworm-slim", layer({}))
    asked: list[str] = []

    def closure(_plan: Plan, base: str, *_: object) -> apt.Closure:
        asked.append(base)
        return APT

    monkeypatch.setattr(make, "closure", closure)
    monkeypatch.setattr(make, "lock_wheels", lambda *_: ())
    made = make.lock(plans.WHEELS, Net(registry_mirror=server.host))
    assert made.apt == APT.packages
    assert made.apt_index == APT.lines
    assert made.snapshot == APT.snapshot == "20261201T000000Z"
    assert asked == [f"docker.io/library/debian:bookworm-slim@{digest}"]


def test_no_engine_and_no_apt_is_exit_4(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    push(server, "library/debian", "bookworm-slim", layer({}))
    monkeypatch.setattr("envbuild.lock.ask.shutil.which", lambda _: None)
    with pytest.raises(MachineError, match="no engine and no apt-get") as error:
        make.lock(plans.WHEELS, Net(registry_mirror=server.host))
    assert error.value.exit_code == 4


def test_a_plan_of_a_later_source_is_exit_3(plain: Net) -> None:
    with pytest.raises(NoPlanError, match="image, wheels, distro"):
        make.lock(replace(plans.IMAGE, toolkit_source="runfile"), plain)


@pytest.mark.parametrize(
    "lock",
    [
        *(locks.WHEELS, locks.DISTRO, locks.IMAGE, locks.TORCH),
        *(locks.APT, locks.REDIST, locks.CONDA),
    ],
)
def test_the_text_reads_back_one_entry_a_line(lock: Lock) -> None:
    text = dump_lock(lock)
    assert load(Lock, text, "envbuild.lock") == lock
    lines = text.decode().splitlines()
    entries = [*lock.apt, *lock.wheels, *lock.parts]
    assert sum(line.startswith('    {"name": ') for line in lines) == len(entries)


@pytest.mark.parametrize(
    ("index", "urls"),
    [("cu126", {"cu126": "https://download.pytorch.org/whl/cu126"}), ("pypi", {})],
)
def test_it_says_where_a_framework_index_is_and_no_mirror(
    index: str, urls: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default index is each network's own affair, even if the matrices gave an address."""
    found = Wheel(name="torch", version="2", file="t.whl", sha256="0" * 64, index=index)
    monkeypatch.setattr(make, "lock_wheels", lambda *_: (found,))
    torch = TorchChoice(
        version="2", index="cu126", index_url=urls.get("cu126", "https://x.example")
    )
    plan = replace(plans.WHEELS, torch=torch)
    net = Net(index_url="https://mirror.example/simple")
    made = make.lock(plan, net, LocalEngine(root=Path("prefix")))
    assert made.index_urls == Pairs(urls)
    text = dump_lock(made)
    assert b"mirror.example" not in text
    make.check(load(Lock, text, "envbuild.lock"), plan, "envbuild.lock")


def test_a_lock_of_an_earlier_release_has_no_addresses() -> None:
    kept = json.loads(dump_lock(fresh()))
    kept.pop("index_urls", None)
    old = load(Lock, json.dumps(kept).encode(), "envbuild.lock")
    make.check(old, plans.IMAGE, "envbuild.lock")


def fresh() -> Lock:
    """A lock of the image plan by this release."""
    return replace(locks.IMAGE, templates=templates.hashes(), probes=probes.hashes())


def test_a_fresh_lock_passes() -> None:
    assert make.stale(fresh(), plans.IMAGE) == ()
    make.check(fresh(), plans.IMAGE, "envbuild.lock")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"plan": "sha256:0"}, "another plan"),
        ({"platform": "linux/arm64"}, "another platform"),
        ({"templates": Pairs({"Dockerfile.j2": "0"})}, "templates have changed"),
        ({"probes": Pairs()}, "probes have changed"),
    ],
)
def test_a_stale_lock_says_why(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(StaleError, match=reason) as error:
        make.check(replace(fresh(), **changes), plans.IMAGE, "envbuild.lock")
    assert error.value.exit_code == 7


def test_the_local_engine_locks_wheels_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make, "lock_wheels", lambda *_: locks.WHEELS.wheels)
    made = make.lock(plans.WHEELS, Net(offline=True), LocalEngine(root=Path("prefix")))
    assert (made.base, made.apt) == (None, ())
    assert made.wheels == locks.WHEELS.wheels
