"""Archive files of a toolkit: what the indexes of redist and conda say, and what they cannot."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuild.errors import EnvbuildError, InputError, MachineError, NoPlanError
from envbuild.io.net import Net
from envbuild.lock.parts import lock_parts
from envbuild.values.codec import replace
from envbuild.values.plan import Layout, Plan
from tests.lock import serving, vendor
from tests.render import plans

RECORDED = Path(__file__).with_name("recorded")
REDIST = replace(plans.REDIST, cuda="12.4.1")
CONDA = replace(plans.CONDA, cuda="12.4.1")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "served"


@pytest.fixture
def net(root: Path) -> Iterator[Net]:
    root.mkdir()
    with serving.served(root) as mirror:
        yield Net(toolkit_mirror=mirror)


def of(plan: Plan, **changes: object) -> Plan:
    archive = replace(plan.layout.archive, **changes)
    return replace(plan, layout=Layout(archive=archive))


def test_the_vendors_own_index_is_read(root: Path, net: Net) -> None:
    # Recorded: four parts of redistrib_12.9.2.json as NixOS/nixpkgs keeps it, at commit 59dd8112.
    index = root / "compute/cuda/redist/redistrib_12.9.2.json"
    index.parent.mkdir(parents=True)
    index.write_bytes((RECORDED / "redistrib_12.9.2.json").read_bytes())
    parts = {part.name: part for part in lock_parts(plans.REDIST, net)}
    assert list(parts) == list(plans.REDIST.layout.archive.parts)  # type: ignore[union-attr]
    nvcc = parts["cuda_nvcc"]
    assert (nvcc.version, nvcc.size) == ("12.9.86", 81100244)
    assert nvcc.path == "cuda_nvcc/linux-x86_64/cuda_nvcc-linux-x86_64-12.9.86-archive.tar.xz"
    assert nvcc.sha256 == "7a1a5b652e5ef85c82b721d10672fc9a2dbaab44e9bd3c65a69517bf53998c35"
    arm = lock_parts(replace(plans.REDIST, arch="aarch64"), net)
    assert all("/linux-sbsa/" in part.path for part in arm)


def test_conda_packages_are_those_of_one_release(root: Path, net: Net) -> None:
    pytest.importorskip("rattler")
    vendor.conda(root, vendor.tiny())
    parts = lock_parts(CONDA, net)
    assert [f"{part.name} {part.version}" for part in parts] == [
        "_libgcc_mutex 0.1",
        "cuda-cudart-dev 12.4.127",
        "cuda-cudart_linux-64 12.4.127",
        "cuda-nvcc-impl 12.4.131",
        "cuda-version 12.4",
    ]
    assert parts[-1].path == "noarch/cuda-version-12.4-0.conda"
    assert lock_parts(CONDA, net) == parts


def test_users_settings_do_not_reach_the_solver(
    root: Path, net: Net, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rattler")
    vendor.conda(root, vendor.tiny())
    parts = lock_parts(CONDA, net)
    monkeypatch.setenv("CONDA_OVERRIDE_GLIBC", "2.5")
    monkeypatch.setenv("RATTLER_CACHE_DIR", "/nonexistent")
    assert lock_parts(CONDA, net) == parts


def test_without_rattler_its_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envbuild.lock.conda.importlib.util.find_spec", lambda _: None)
    with pytest.raises(MachineError, match="not installed") as error:
        lock_parts(CONDA, Net())
    assert ".[conda]" in error.value.fix


def edited(root: Path, change: str) -> None:
    """A redist index with one thing wrong in it."""
    vendor.redist(root, vendor.tiny())
    index = root / vendor.REDIST / "redistrib_12.4.1.json"
    listed = json.loads(index.read_text())
    nvcc = listed["cuda_nvcc"]["linux-x86_64"]
    if change == "no index":
        index.unlink()
    elif change == "no part":
        del listed["cuda_nvrtc"]
    elif change == "no platform":
        del listed["cuda_nvcc"]["linux-x86_64"]
    elif change == "other form":
        listed["cuda_nvcc"] = ["linux-x86_64"]
    elif change == "dots":
        nvcc["relative_path"] = "../../etc/passwd"
    elif change == "shell":
        nvcc["relative_path"] = "x;reboot"
    elif change == "no hash":
        nvcc["sha256"] = ""
    if index.exists():
        index.write_text("<html>" if change == "login page" else json.dumps(listed))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("no index", "has no redistrib_12.4.1.json"),
        ("no part", "lists no cuda_nvrtc for linux-x86_64"),
        ("no platform", "lists no cuda_nvcc for linux-x86_64"),
        ("other form", "not described as a part"),
        ("dots", "a text that cannot be right"),
        ("shell", "a text that cannot be right"),
        ("no hash", "a text that cannot be right"),
        ("login page", "sent a web page for"),
    ],
)
def test_an_index_that_is_wrong_is_exit_4(root: Path, net: Net, change: str, says: str) -> None:
    edited(root, change)
    with pytest.raises(MachineError, match=says) as error:
        lock_parts(REDIST, net)
    assert error.value.exit_code == 4


@pytest.mark.parametrize(
    ("plan", "kind", "says"),
    [
        (of(CONDA, parts=("no-such-package",)), NoPlanError, "no packages that make this"),
        (replace(CONDA, cuda="12.7.0"), NoPlanError, "no packages that make this"),
        (of(CONDA, url="https://conda.example/elsewhere/"), MachineError, "cannot be read"),
        (of(CONDA, parts=("x; reboot",)), InputError, "cannot be a package name"),
        (of(CONDA, parts=()), InputError, "does not say what it takes"),
        (replace(REDIST, cuda=None), InputError, "does not say what it takes"),
    ],
)
def test_what_cannot_be_chosen_is_said(
    root: Path, net: Net, plan: Plan, kind: type[EnvbuildError], says: str
) -> None:
    pytest.importorskip("rattler")
    vendor.conda(root, vendor.tiny())
    with pytest.raises(kind, match=says):
        lock_parts(plan, net)


@pytest.mark.parametrize("plan", [REDIST, CONDA])
def test_no_network_is_exit_4_and_shows_no_password(plan: Plan) -> None:
    pytest.importorskip("rattler")
    with pytest.raises(MachineError) as error:
        lock_parts(plan, Net(toolkit_mirror="http://me:secret@127.0.0.1:9/x"))
    assert "secret" not in str(error.value)
    with pytest.raises(MachineError, match="--offline"):
        lock_parts(plan, Net(offline=True))


def test_other_sources_have_none() -> None:
    assert lock_parts(plans.WHEELS, Net(offline=True)) == ()
    assert lock_parts(plans.APT, Net(offline=True)) == ()
