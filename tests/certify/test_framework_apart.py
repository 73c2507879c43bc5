"""Parts of a framework that are forked from one import: apart from each other all the same."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envbuild import data
from envbuild.certify import steps
from envbuild.certify.judge import judge
from envbuild.certify.seen import Ran
from tests.certify import framework_samples as made
from tests.certify import samples
from tests.certify.made_frameworks import fake, observed

PROGRAM = data.folder("kernels") / "frameworks" / "envbuild_apart.py"
FINE = "print('fine')"


def forked(
    tmp: Path, *bodies: str, module: str = "", seconds: float = 20
) -> tuple[int, tuple[Ran, ...]]:
    """The program's exit code, and the results of parts that do as these bodies say."""
    fake(tmp / "m", "made", module)
    parts = []
    for i, body in enumerate(bodies):
        path = tmp / f"part{i}.py"
        path.write_text(body)
        parts.append([f"made.{i}", seconds, [str(path), samples.NONCE]])
    argv = [sys.executable, str(PROGRAM), samples.NONCE, "made", json.dumps(parts)]
    env = {"PYTHONPATH": str(tmp / "m"), "PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=env)
    results, noise = steps.decode(done.stdout)
    assert noise == 0
    return done.returncode, results


def test_the_import_is_made_once_and_its_words_are_no_results(tmp_path: Path) -> None:
    module = 'import os; print(\'{"step": "made.0", "rc": 0}\'); imported_by = os.getpid()'
    says = "import made, os, sys; print(made.imported_by == os.getppid(), sys.argv[1])"
    rc, results = forked(tmp_path, says, says, module=module)
    assert rc == 0
    assert [(ran.step, ran.ok, ran.out) for ran in results] == [
        (f"made.{i}", True, f"True {samples.NONCE}\n") for i in range(2)
    ]


@pytest.mark.parametrize(
    ("body", "rc", "signal"),
    [
        ("import os; os.abort()", -1, 6),
        ("import atexit, os; atexit.register(os.abort)", -1, 6),
        ("import os; os._exit(3)", 3, 0),
        ("raise ValueError('no such thing')", 1, 0),
    ],
    ids=["dies", "dies at its end", "exits", "raises"],
)
def test_none_is_begun_after_one_that_dies(tmp_path: Path, body: str, rc: int, signal: int) -> None:
    code, results = forked(tmp_path, FINE, body, FINE)
    assert code == 0
    assert [(ran.step, ran.rc, ran.signal) for ran in results] == [
        ("made.0", 0, 0),
        ("made.1", rc, signal),
    ]


def test_one_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    body = (
        f"import os, time, pathlib; os.fork(); time.sleep(3); pathlib.Path({str(mark)!r}).touch()"
    )
    start = time.monotonic()
    _, results = forked(tmp_path, body, FINE, seconds=1)
    assert [(ran.step, ran.timed_out, ran.signal) for ran in results] == [("made.0", True, 9)]
    time.sleep(max(0.0, start + 4 - time.monotonic()))
    assert not mark.exists()


def test_one_that_closes_its_output_is_waited_for(tmp_path: Path) -> None:
    body = "import os, time; os.close(1); os.close(2); time.sleep(0.3); os._exit(4)"
    _, results = forked(tmp_path, body)
    assert results[0].rc == 4
    assert results[0].ms >= 300


def test_a_flood_is_cut_and_no_other_part_is_lost(tmp_path: Path) -> None:
    _, results = forked(tmp_path, "print('line after line\\n' * 100000)", FINE)
    assert [(ran.cut, ran.out[-5:]) for ran in results][1] == (False, "fine\n")
    assert results[0].cut
    assert len(results[0].out) == 64 << 10


@pytest.mark.parametrize(
    "module", ["raise ImportError('libx.so.9')", "import os; os.abort()", "raise SystemExit(0)"]
)
def test_an_import_that_fails_begins_no_part(tmp_path: Path, module: str) -> None:
    assert forked(tmp_path, FINE, module=module)[1] == ()


class TestRun:
    """A whole run, on the driver that is made."""

    def test_a_torch_that_survives_no_fork_is_tried_part_by_part(
        self, driver: Path, tmp_path: Path
    ) -> None:
        guard = (
            "import os, sys\n"
            "if os.path.basename(sys.argv[0]) == 'envbuild_apart.py':\n"
            "    os.register_at_fork(after_in_child=os.abort)\n"
        )
        now = observed(driver, tmp_path, "sm_90", "no kernel image is available", first=guard)
        ran = {s.name: [(ran.step, ran.signal) for ran in s.steps] for s in now.sessions}
        assert ran["torch.parts"] == [("torch.parts", 0), ("torch.eager", 6)]
        assert len(ran["torch.apart"]) == 7
        check = made.found(now, "torch.eager")
        assert "holds no code" in check.reason
        assert "of its own" in str(check.inputs.get("process"))
        assert judge(now, ("torch",)).exit == 6
