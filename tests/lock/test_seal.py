"""A lock that a hand or a merge changed, one of other matrices, one whose base is gone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from envbuild.cli import app
from envbuild.errors import StaleError
from envbuild.io.http import GoneError
from envbuild.io.net import Net
from envbuild.lock import make, upgrade
from envbuild.lock.recipe import recipe
from envbuild.lock.seal import broken, sealed
from envbuild.lock.text import dump_lock
from envbuild.values.codec import digest, dump, load, replace
from envbuild.values.lock import Lock
from envbuild.values.plan import MatrixId
from tests.lock.server import Server, layer, push
from tests.lock.test_make import fresh
from tests.render import locks, plans

LOCK = sealed(fresh())
OLD = MatrixId(date="2026-11-01", digest="sha256:" + "1" * 64)


def by_hand(old: str, new: str, made: Lock = LOCK) -> Lock:
    """The lock with a text in its file exchanged."""
    text = dump_lock(made).decode()
    assert old in text
    return load(Lock, text.replace(old, new, 1).encode(), "envbuild.lock")


def test_a_written_lock_has_a_seal_that_survives_its_file() -> None:
    assert LOCK.seal.startswith("sha256:")
    assert broken(load(Lock, dump_lock(LOCK), "l")) == broken(fresh()) == ()
    assert fresh().seal == ""


@pytest.mark.parametrize(
    ("old", "new"),
    [("a" * 64, "c" * 64), ('"tool": "0.1.0"', '"tool": "0.2.0"'), (LOCK.seal, "sha256:0")],
)
def test_what_a_hand_changed_is_noticed(old: str, new: str) -> None:
    with pytest.raises(StaleError, match="changed since envbuild wrote it") as error:
        make.check(by_hand(old, new), plans.IMAGE, "envbuild.lock")
    assert error.value.exit_code == 7


def twice(kind: str) -> Callable[[Lock], Lock]:
    return lambda lock: replace(lock, **{kind: (*getattr(lock, kind), getattr(lock, kind)[0])})


@pytest.mark.parametrize(
    ("lock", "change", "reason"),
    [
        (locks.WHEELS, twice("apt"), "two packages are named"),
        (locks.WHEELS, twice("wheels"), "two wheels are named"),
        (locks.REDIST, twice("parts"), "two archives are named"),
        (locks.IMAGE, lambda lock: by_hand("a" * 64, "a" * 63, lock), "is no sha256"),
        (locks.TORCH, lambda lock: by_hand("e" * 64, "E" * 64, lock), "hash of torch is no"),
        (locks.IMAGE, lambda lock: by_hand("x/amd64", "x/arm64", lock), "and the lock for"),
    ],
)
def test_what_contradicts_itself_is_named_even_without_a_seal(
    lock: Lock, change: Callable[[Lock], Lock], reason: str
) -> None:
    assert broken(lock) == ()
    assert any(reason in said for said in broken(change(lock)))


def test_one_entry_of_an_edited_lock_is_not_upgraded() -> None:
    edited = by_hand("a" * 64, "c" * 64)
    with pytest.raises(StaleError, match="cannot be trusted"):
        upgrade.upgrade(edited, plans.IMAGE, Net(offline=True), None, "base")


def test_matrices_that_have_changed_are_the_reason_and_not_the_request() -> None:
    before = replace(plans.IMAGE, matrix=OLD)
    made = replace(LOCK, plan=digest(before), matrix=OLD, seal="")
    today = plans.IMAGE.matrix.date
    why = f"from the matrices of 2026-11-01, and the plan is from those of {today}; the plan is"
    assert make.stale(made, plans.IMAGE) == (f"it was made {why} another in nothing else",)
    (said,) = make.stale(made, replace(plans.IMAGE, cc=("8.9",)))
    assert said.endswith("it was made for another plan")
    same_day = replace(OLD, date=today)
    (said,) = make.stale(replace(made, matrix=same_day), plans.IMAGE)
    assert said.startswith(f"it was made from other matrices of {today} (111111111111, now ")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server) -> Server:
    """A folder with a plan of a vendor's tag and its lock, and a mirror that has the tag."""
    push(server, "nvidia/cuda", "12.4.1-devel-ubuntu22.04", layer({"a": b"1"}))
    push(server, "library/ubuntu", "22.04", layer({"b": b"1"}))
    monkeypatch.setenv("ENVBUILD_REGISTRY_MIRROR", server.host)
    monkeypatch.chdir(tmp_path)
    Path("plan.json").write_bytes(dump(plans.IMAGE))
    assert app.run(["lock", "plan.json"]) == 0
    return server


CHECK = ["lock", "plan.json", "--check"]


def test_a_deleted_base_is_said_with_what_rebuilds_it(
    desk: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(CHECK) == 0
    for path in [path for path in desk.answers if "/nvidia/cuda/" in path]:
        del desk.answers[path]
    capsys.readouterr()
    assert app.run(CHECK) == 4
    said = capsys.readouterr().err
    assert recipe(plans.IMAGE) is not None
    assert "envbuild build" in said
    assert "--toolkit-source redist" in said
    assert app.run([*CHECK, "--offline"]) == 0


def test_without_a_recipe_it_is_still_said(desk: Server) -> None:
    made = load(Lock, Path("envbuild.lock").read_bytes(), "envbuild.lock")
    desk.answers.clear()
    with pytest.raises(GoneError):
        make.there(replace(made, recipe=None), Net(registry_mirror=desk.host))


def test_a_registry_that_is_down_makes_no_lock_stale(
    desk: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ENVBUILD_REGISTRY_MIRROR", "127.0.0.1:9")
    assert app.run(CHECK) == 0
    assert "is still there is not known" in capsys.readouterr().err


def test_older_matrices_of_a_plan_file_are_said(
    desk: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("plan.json").write_bytes(dump(replace(plans.IMAGE, matrix=OLD)))
    assert app.run(CHECK) == 7
    assert "matrices of" in capsys.readouterr().err
    assert app.run(["lock", "plan.json"]) == 0
    assert app.run(CHECK) == 0
    assert "from matrices of 2026-11-01, and this release's" in capsys.readouterr().err


def test_an_edited_lock_is_no_lock_to_build_render_or_check(
    desk: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path("envbuild.lock")
    file.write_text(file.read_text().replace('"tool": "', '"tool": "9', 1))
    for argv in (CHECK, ["render", "plan.json", "-o", "out"]):
        assert app.run(argv) == 7
        assert "changed since envbuild wrote it" in capsys.readouterr().err
