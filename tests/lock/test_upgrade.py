"""`lock --upgrade`: what is another today, why, and that nothing else moves; recipes of tags."""

import json
from pathlib import Path

import pytest

from envbuild.cli import app
from envbuild.errors import MachineError, NoPlanError
from envbuild.io.net import Net
from envbuild.lock import apt, make, upgrade
from envbuild.lock.recipe import recipe
from envbuild.lock.seal import sealed
from envbuild.matrix.load import load as matrices
from envbuild.planner.plan import plan as make_plan
from envbuild.planner.resolve import resolve
from envbuild.values.codec import digest, dump, load, replace
from envbuild.values.lock import AptPackage, Lock
from envbuild.values.plan import Layout, Plan
from tests.lock import serving, vendor
from tests.lock.server import Server, layer, publish, push, wheel
from tests.render import locks, plans

PLAN = replace(plans.WHEELS, packages=("top", "other"), layout=Layout(), python="3.11", apt=())
OLD = (wheel("top", "1.0", "py3-none-any"), wheel("other", "1.0", "py3-none-any"))
NEW = (
    wheel("top", "2.0", "py3-none-any", ("extra",)),
    wheel("other", "2.0", "py3-none-any"),
    wheel("extra", "1.0", "py3-none-any"),
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("UV_NO_CACHE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server) -> Path:
    """A folder with a plan of wheels and its lock."""
    push(server, "library/debian", "bookworm-slim", layer({"a": b"1"}))
    publish(server, "/simple", *OLD)
    monkeypatch.setenv("ENVBUILD_REGISTRY_MIRROR", server.host)
    monkeypatch.setenv("ENVBUILD_INDEX_URL", f"http://{server.host}/simple")
    monkeypatch.chdir(tmp_path)
    Path("plan.json").write_bytes(dump(PLAN))
    assert app.run(["lock", "plan.json", "--quiet"]) == 0
    return tmp_path


def kept() -> Lock:
    return load(Lock, Path("envbuild.lock").read_bytes(), "envbuild.lock")


def rows(out: str) -> list[list[str]]:
    return [line.split("  ") for line in out.splitlines() if " -> " in line]


def test_what_is_new_is_shown_and_written(
    desk: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    before = kept()
    assert app.run(["lock", "plan.json", "--upgrade"]) == 0
    assert "nothing" in capsys.readouterr().out
    assert kept() == before
    moved = push(server, "library/debian", "bookworm-slim", layer({"a": b"2"}))
    publish(server, "/simple", *OLD, *NEW)
    assert app.run(["lock", "plan.json", "--upgrade"]) == 0
    shown = capsys.readouterr().out
    after = kept()
    assert after.base is not None
    assert after.base.digest == moved
    assert f"-> {moved}  its tag names another image today" in shown
    assert "wheels    top  1.0 -> 2.0  the index has another version" in shown
    assert "wheels    extra  none -> 1.0  needed now" in shown
    assert len(rows(shown)) == 4
    assert app.run(["lock", "plan.json", "--check"]) == 0


@pytest.mark.parametrize("resolver", ["uv", "pip"])
def test_one_name_moves_alone(
    desk: Path, server: Server, monkeypatch: pytest.MonkeyPatch, resolver: str
) -> None:
    if resolver == "pip":
        monkeypatch.setattr("envbuild.lock.resolvers.find_uv", lambda: None)
    before = kept()
    push(server, "library/debian", "bookworm-slim", layer({"a": b"2"}))
    publish(server, "/simple", *OLD, *NEW)
    assert app.run(["lock", "plan.json", "top", "--upgrade"]) == 0
    after = kept()
    versions = {one.name: one.version for one in after.wheels}
    assert versions == {"top": "2.0", "other": "1.0", "extra": "1.0"}
    assert after.base == before.base
    assert app.run(["lock", "plan.json", "base", "--upgrade"]) == 0
    assert kept().wheels == after.wheels
    assert kept().base != before.base


def test_a_name_alone_is_no_file_and_an_unknown_one_is_exit_2(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path("envbuild.lock").read_bytes()
    # Without a plan file it is of the plan that the flags make, which this lock is not of.
    assert app.run(["lock", "--cc", "9.0", "--upgrade", "top"]) == 7
    assert "is of another plan" in capsys.readouterr().err
    assert app.run(["lock", "plan.json", "otherr", "--upgrade"]) == 2
    assert "did you mean other?" in capsys.readouterr().err
    assert app.run(["lock", "plan.json", "top"]) == 2
    assert app.run(["lock", "plan.json", "--upgrade", "--check"]) == 2
    assert app.run(["lock", "plan.json", "--upgrade", "-o", "missing.lock"]) == 2
    assert Path("envbuild.lock").read_bytes() == before


def test_a_failure_leaves_the_lock_as_it_was(
    desk: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path("envbuild.lock").read_bytes()
    server.answers.clear()
    assert app.run(["lock", "plan.json", "--upgrade"]) == 4
    assert Path("envbuild.lock").read_bytes() == before
    assert sorted(path.name for path in desk.glob("*lock*")) == ["envbuild.lock"]


def test_another_plan_is_the_reason_for_all_that_it_moves(
    desk: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("plan.json").write_bytes(dump(replace(PLAN, packages=("top",), cc=("8.9",))))
    assert app.run(["lock", "plan.json", "--upgrade"]) == 0
    shown = capsys.readouterr().out
    assert "the request or the matrices have changed" in shown
    assert "wheels    other  1.0 -> none  no longer needed" in shown


def test_json_is_the_lock_and_the_changes_are_beside_it(
    desk: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(server, "/simple", *OLD, *NEW)
    assert app.run(["lock", "plan.json", "--upgrade", "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["schema"] == "envbuild/lock/1"
    assert "top  1.0 -> 2.0" in said.err


def test_a_package_moves_alone_and_others_are_asked_for_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, ...]] = []

    def closure(_plan: Plan, *_: object, kept: tuple[AptPackage, ...]) -> apt.Closure:
        asked.append(tuple(f"{one.name}={one.version}" for one in kept))
        newer = AptPackage(name="gcc", version="9:99", arch="amd64")
        return apt.Closure((newer, *kept), old.apt_index)

    monkeypatch.setattr(upgrade, "closure", closure)
    gcc, rest = (AptPackage(name=n, version="1", arch="amd64") for n in ("gcc", "make"))
    old = replace(locks.WHEELS, plan=digest(plans.WHEELS), apt=(gcc, rest))
    new = upgrade.upgrade(old, plans.WHEELS, Net(), None, "gcc")
    assert asked == [("make=1",)]
    (change,) = upgrade.changes(old, new)
    assert change == ("apt", "gcc", "1", "9:99", "the archive has another version")


def test_the_same_version_in_other_bytes_is_no_upgrade_like_any_other() -> None:
    old = locks.WHEELS
    new = replace(old, wheels=(replace(old.wheels[0], sha256="f" * 64), *old.wheels[1:]))
    (change,) = upgrade.changes(old, new)
    assert change.name == old.wheels[0].name
    assert "OTHER BYTES" in change.why


def test_a_pin_that_cannot_stay_is_exit_3(desk: Path, server: Server) -> None:
    publish(server, "/simple", *OLD, wheel("top", "3.0", "py3-none-any", ("other>=9",)))
    newest = replace(PLAN, packages=("top>=3", "other"))
    old = sealed(replace(kept(), plan=digest(newest)))
    net = Net(index_url=f"http://{server.host}/simple", registry_mirror=server.host)
    with pytest.raises(NoPlanError):
        upgrade.upgrade(old, newest, net, None, "top")


def test_a_deleted_tag_is_rebuilt_by_its_recipe(server: Server, tmp_path: Path) -> None:
    push(server, "nvidia/cuda", "12.4.1-devel-ubuntu22.04", layer({"a": b"1"}))
    push(server, "library/ubuntu", "22.04", layer({"b": b"1"}))
    net = Net(registry_mirror=server.host)
    made = make.lock(plans.IMAGE, net)
    assert made.recipe is not None
    assert (made.recipe.source, made.recipe.cuda) == ("redist", "12.4.1")
    for path in [path for path in server.answers if "nvidia/cuda" in path]:
        del server.answers[path]
    with pytest.raises(MachineError, match="answered 404") as caught:
        make.lock(plans.IMAGE, net)
    assert caught.value.fix.endswith(
        "envbuild build --cc 8.6 --cuda 12.4.1 --base-os ubuntu22.04 --arch x86_64 "
        "--toolkit-source redist"
    )
    other = make_plan(resolve(made.recipe.request, None, matrices()), matrices())
    assert isinstance(other, Plan)
    assert (other.toolkit_source, other.cuda) == ("redist", "12.4.1")
    assert (other.image.os, other.cc) == (plans.IMAGE.image.os, plans.IMAGE.cc)
    # A stand-in of the vendor's server: the path is shown, not the vendor's bytes.
    root = tmp_path / "served"
    root.mkdir()
    vendor.redist(root, vendor.tiny())
    with serving.served(root) as mirror:
        bare = replace(other, apt=())
        again = make.lock(bare, Net(registry_mirror=server.host, toolkit_mirror=mirror))
    assert {part.name for part in again.parts} >= {"cuda_nvcc", "cuda_cudart"}
    assert again.recipe is None


def test_only_a_vendors_tag_has_a_recipe() -> None:
    assert recipe(plans.WHEELS) is None
    assert recipe(plans.DISTRO) is None
    # No archive has a release that no row knows.
    assert recipe(replace(plans.IMAGE, cuda="99.1.0")) is None
