"""One run at a time on one GPU: the lock, whoever plants what in its place, and others at work."""

import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from envbuild.certify import guard, run
from envbuild.certify.judge import judge
from envbuild.errors import MachineError
from envbuild.matrix.load import load
from envbuild.values.codec import replace
from envbuild.values.host import Gpu, Usage
from tests.certify import fast_samples, here, samples

GPU = "GPU-1"
PLACE = guard.place  # before conftest puts another in its place


def lock_of(folder: Path, gpu: str = GPU) -> Path:
    return folder / f"envbuild-{gpu}.lock"


def test_a_second_run_waits_until_the_first_is_done(tmp_path: Path) -> None:
    said: list[str] = []
    got = threading.Event()

    def second() -> None:
        with guard.held((GPU,), 30.0, said.append, tmp_path):
            got.set()

    with guard.held((GPU,), 0.0, folder=tmp_path):
        other = threading.Thread(target=second)
        other.start()
        while not said:
            time.sleep(0.01)
        assert not got.is_set()
    other.join(30)
    assert got.is_set()
    assert said == ["waiting   another run works on GPU-1"]


def test_it_waits_no_longer_than_said(tmp_path: Path) -> None:
    with guard.held((GPU,), 0.0, folder=tmp_path):
        with (
            pytest.raises(MachineError, match="another run works on GPU-1") as caught,
            guard.held((GPU,), 0.2, folder=tmp_path),
        ):
            raise AssertionError
        assert caught.value.exit_code == 4
        with guard.held(("GPU-2",), 0.0, folder=tmp_path):
            pass


def test_a_killed_run_frees_it(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from envbuild.certify import guard\n"
        "with guard.held((sys.argv[1],), 0.0, folder=Path(sys.argv[2])):\n"
        "    print('held', flush=True); time.sleep(60)"
    )
    argv = [sys.executable, "-c", code, GPU, str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as other:
        assert other.stdout
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(MachineError), guard.held((GPU,), 0.0, folder=tmp_path):
            pass
        other.kill()
        other.wait()
    with guard.held((GPU,), 5.0, folder=tmp_path):
        pass


def test_the_file_is_every_users_and_nobodys(tmp_path: Path) -> None:
    with guard.held((GPU,), 0.0, folder=tmp_path):
        assert stat.S_IMODE(lock_of(tmp_path).stat().st_mode) == 0o444
    # Another user's file, which we may only read, serves as well.
    lock_of(tmp_path).chmod(0o404)
    with guard.held((GPU,), 0.0, folder=tmp_path):
        pass
    assert lock_of(tmp_path).read_bytes() == b""


@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "folder"])
def test_what_is_planted_in_its_place_is_refused(tmp_path: Path, kind: str) -> None:
    path, victim = lock_of(tmp_path), tmp_path / "victim"
    if kind == "link":
        victim.write_text("precious")
        path.symlink_to(victim)
    elif kind == "dangling link":
        path.symlink_to(victim)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with (
        pytest.raises(MachineError, match="cannot be locked") as caught,
        guard.held((GPU,), 0.0, folder=tmp_path),
    ):
        raise AssertionError
    assert caught.value.fix == f"remove {path}"
    assert victim.exists() is (kind == "link")


def test_a_file_that_lost_its_name_holds_nobody_off(tmp_path: Path) -> None:
    with guard.held((GPU,), 0.0, folder=tmp_path):
        lock_of(tmp_path).unlink()
        # Whoever comes now has a new file; who still waits for the old one takes the new one, too.
        with (
            guard.held((GPU,), 0.0, folder=tmp_path),
            pytest.raises(MachineError),
            guard.held((GPU,), 0.0, folder=tmp_path),
        ):
            raise AssertionError


def test_several_gpus_are_taken_in_one_order(tmp_path: Path) -> None:
    two = (Gpu(uuid="GPU-b", source="nvml"), Gpu(uuid="GPU-a", source="nvml"))
    now = replace(samples.seen("toolchain", "smoke", "multi"), gpus=two)
    assert guard.needed(now) == ("GPU-1", "GPU-a", "GPU-b")
    assert guard.needed(replace(now, asked=("toolchain", "smoke"))) == ("GPU-1",)
    assert guard.needed(samples.seen()) == ("GPU-1",)
    with guard.held(guard.needed(now), 0.0, folder=tmp_path):
        assert len(list(tmp_path.iterdir())) == 3


def test_the_place_is_the_first_that_all_users_share() -> None:
    # Undo what keeps these tests apart: this is the machine's own place.
    for path in (Path("/run/lock"), Path("/tmp")):
        mode = path.stat().st_mode if path.is_dir() else 0
        if mode & 0o1002 == 0o1002:
            assert PLACE() == path
            return
    with pytest.raises(MachineError):
        PLACE()


def test_a_strange_name_stays_in_the_folder(tmp_path: Path) -> None:
    with guard.held(("../../etc/x",), 0.0, folder=tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == ["envbuild-.._.._etc_x.lock"]


def test_a_run_whose_gpu_is_never_free_keeps_what_it_saw(driver: Path) -> None:
    said: list[str] = []
    uuid = here.HOST.gpus[0].uuid
    assert uuid
    with guard.held((uuid,), 0.0):
        found = run.certify(
            here.HereEngine(driver),
            here.image(stage="runtime", cc="9.0", promise="90"),
            host=here.HOST,
            matrices=load(),
            policy=run.Policy(wait=0.3),
            say=said.append,
        )
    assert found.exit == 4
    assert f"waiting   another run works on {uuid}" in said
    suites = {suite.name: suite for suite in found.suites}
    assert {check.reason for check in suites["smoke"].checks} == {f"another run works on {uuid}"}
    assert any(check.verdict == "pass" for check in suites["toolchain"].checks)


def usage(when: str, busy: int = 0, used: int = 500, total: int = 80_000) -> Usage:
    return Usage(uuid=GPU, when=when, busy=busy, used_mib=used, total_mib=total)


IDLE = (usage("before"), usage("after", busy=60))


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (IDLE, ""),
        ((), ""),
        ((usage("before", busy=9), usage("after")), ""),
        ((usage("before", busy=97), usage("after")), "97 % busy before the run began"),
        ((usage("before", used=30_000), usage("after")), "held 30000 of the GPU's 80000 MiB"),
        ((usage("before"), usage("after", used=4_000)), "took 3500 MiB of the GPU during the run"),
        ((usage("before", used=3_000), usage("after", used=500)), ""),
        ((Usage(uuid="GPU-2", when="before", busy=99),), ""),
        ((Usage(uuid=GPU, when="before"), Usage(uuid=GPU, when="after", used_mib=9_000)), ""),
    ],
)
def test_others_on_the_gpu(found: tuple[Usage, ...], says: str) -> None:
    words = guard.others(found, GPU)
    assert says in words
    assert bool(says) == bool(words)


def test_figures_of_a_shared_gpu_are_open_and_being_right_is_not() -> None:
    now = fast_samples.seen()
    gpu = now.choice.gpu
    assert gpu
    alone = judge(now, ("fast",))
    shared = (replace(usage("before", busy=80), uuid=gpu.uuid),)
    found = judge(replace(now, usage=shared), ("fast",))
    verdicts = {check.id: check.verdict for suite in found.suites for check in suite.checks}
    for suite in alone.suites:
        for check in suite.checks:
            timed = suite.name == "fast" and check.verdict in {"pass", "fail"}
            assert verdicts[check.id] == ("inconclusive" if timed else check.verdict), check.id
    assert found.exit == 8
    assert judge(replace(now, usage=shared), ("smoke",)).exit == 0
