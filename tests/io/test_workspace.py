"""The workspace: stages that need not run again, folders that are whole or not there."""

import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from envbuild.errors import InputError, MachineError
from envbuild.io import files
from envbuild.io.workspace import Workspace, private_folder, save_folder
from envbuild.values.image import Image

IMAGE = Image(ref="a/b", config="sha256:1", platform="linux/amd64")


def test_a_stage_is_up_to_date_only_with_the_same_inputs_and_its_own_output(tmp_path: Path) -> None:
    space = Workspace(tmp_path / ".envbuild")
    assert not space.fresh("image", "sha256:a", "image.json")
    space.save("image.json", IMAGE)
    assert not space.fresh("image", "sha256:a", "image.json"), "written, but never stamped"
    space.stamp("image", "sha256:a", "image.json")
    assert space.fresh("image", "sha256:a", "image.json")
    assert not space.fresh("image", "sha256:b", "image.json"), "other inputs"
    assert not space.fresh("lock", "sha256:a", "image.json"), "another stage"
    space.path("image.json").write_bytes(b"{}")
    assert not space.fresh("image", "sha256:a", "image.json"), "the file was changed"
    space.path("image.json").unlink()
    assert not space.fresh("image", "sha256:a", "image.json"), "the file is gone"


def test_values_come_back_and_absence_is_none(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    assert space.load(Image, "image.json") is None
    space.save("image.json", IMAGE)
    assert space.load(Image, "image.json") == IMAGE
    space.path("image.json").write_text("{nonsense")
    with pytest.raises(InputError):
        space.load(Image, "image.json")


def test_broken_stamps_make_everything_stale_and_nothing_fails(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    space.save("image.json", IMAGE)
    space.path("stamps.json").write_text('{"of": "another version"}')
    assert not space.fresh("image", "x", "image.json")
    space.stamp("image", "x", "image.json")
    assert space.fresh("image", "x", "image.json")


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "w")
    other = Workspace(tmp_path / "w")
    with space.held(), pytest.raises(MachineError, match="another envbuild"), other.held(0.0):
        pass
    with space.held(timeout=0.0):
        assert (tmp_path / "w" / ".gitignore").read_text() == "*\n"


def test_a_folder_is_replaced_whole(tmp_path: Path) -> None:
    folder = tmp_path / "context"
    save_folder(folder, {"a": b"1", "b/c": b"2"})
    save_folder(folder, {"a": b"3"})
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == {"a": b"3"}
    assert [p.name for p in tmp_path.iterdir()] == ["context"]


def test_a_folder_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    folder = tmp_path / "context"
    save_folder(folder, {"a": b"1"})
    with pytest.raises(MachineError):
        save_folder(folder, {"a": b"2", "a/b": b"a file is no folder"})
    assert (folder / "a").read_bytes() == b"1"
    assert [p.name for p in tmp_path.iterdir()] == ["context"]


def test_many_at_once_sweep_none_that_is_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def use(_: int) -> int:
        with private_folder() as folder:
            (folder / "file").write_text("x")
            return folder.stat().st_mode & 0o777

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(use, range(1200))) == {0o700}
    with private_folder():
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_private_folder_is_ours_alone_and_gone_afterwards() -> None:
    with private_folder() as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "secret").write_text("x")
        with private_folder() as other:
            assert folder.is_dir(), "a living holder's folder stays"
            assert other != folder
    assert not folder.exists()


def test_what_a_killed_process_left_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = (
        "import os, signal\n"
        "from envbuild.io.workspace import private_folder\n"
        "with private_folder() as f:\n"
        "    (f / 'secret').write_text('x')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    env = os.environ | {"TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, check=False)
    assert done.returncode == -signal.SIGKILL
    assert list(tmp_path.glob("*/secret")), "the control: it was left behind"
    files.write(tmp_path / "envbuild-private-not-a-folder", b"somebody else's file")
    with private_folder():
        assert not list(tmp_path.glob("*/secret"))
    assert [p.name for p in tmp_path.iterdir()] == ["envbuild-private-not-a-folder"]


@pytest.mark.parametrize("name", ["a, b", 'a"b', "a\nb"])
def test_a_folder_that_engines_cannot_be_told_of_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / name))
    with pytest.raises(MachineError, match="TMPDIR"), private_folder():
        pass


def test_what_cannot_be_removed_now_is_removed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with monkeypatch.context() as busy:
        busy.setattr("shutil.rmtree", lambda *_, **__: None)  # a container writes as fast as we
        with private_folder() as folder:
            (folder / "scratch").mkdir()
            (folder / "secret").write_text("x")
    assert sorted(p.name for p in folder.iterdir()) == ["held", "scratch"]
    with private_folder():
        assert not folder.exists()


@pytest.mark.parametrize(("age", "stays"), [(0, True), (120, False), (-10_000_000, False)])
def test_a_folder_that_was_never_held_is_removed_once_nobody_can_be_making_it(
    age: int, stays: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    begun = tmp_path / "envbuild-private-abc"
    (begun / "scratch").mkdir(parents=True)
    then = time.time() - age
    os.utime(begun, (then, then))
    with private_folder():
        assert begun.exists() == stays


def test_a_second_writer_waits_and_says_so(tmp_path: Path) -> None:
    said: list[str] = []
    first, second = Workspace(tmp_path), Workspace(tmp_path)
    waits = pytest.raises(MachineError, match="another envbuild")
    with first.held(), waits, second.held(0.3, said.append):
        pass
    with second.held(0.3, said.append):
        pass
    assert said == [f"waiting   another envbuild works in {tmp_path}"]


def test_each_of_our_temporary_folders_is_one_that_the_next_run_can_sweep() -> None:
    source = Path(files.__file__).parents[1]
    own = re.compile(r"(TemporaryDirectory|mkdtemp)\((?!.*\bdir=)")
    found = [
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if own.search(path.read_text(encoding="utf-8"))
    ]
    assert found == [], "private_folder() is swept after a kill; these are not"
