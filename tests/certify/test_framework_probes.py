"""The probes of the framework suites, run for real with frameworks that are made to misbehave."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from envbuild import data
from envbuild.certify import probes
from envbuild.certify.judge import judge
from envbuild.certify.seen import Ran, Seen
from tests.certify import framework_samples as made
from tests.certify import samples
from tests.certify.made_frameworks import fake, observed

FOLDER = data.folder("kernels") / "frameworks"
PARTS = sorted(p.stem for p in FOLDER.glob("*.py") if "it.main(" in p.read_text())
FRAMEWORKS = {
    "torch",
    "numba",
    "numba_cuda",
    "cupy",
    "cupy_backends",
    "triton",
    "cuda",
    "numpy",
    "setuptools",
}


def part(name: str, modules: Path, tmp: Path) -> Ran:
    """A probe's run, as the runner would report it."""
    argv = [sys.executable, str(FOLDER / f"{name}.py"), samples.NONCE, str(tmp), "kernel"]
    env = {"PYTHONPATH": str(modules), "PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=env, cwd=tmp)
    step = name.replace("cuda_python_", "cuda-python_").replace("_", ".", 1)
    return Ran(
        step=step,
        rc=max(done.returncode, -1),
        signal=max(-done.returncode, 0),
        out=done.stdout,
        err=done.stderr,
    )


def with_run(ran: Ran) -> Seen:
    fields = {"rc": ran.rc, "signal": ran.signal, "out": ran.out, "err": ran.err}
    return samples.changed(made.seen(), ran.step, **fields)


def imported(name: str) -> str:
    """The package that a part is about."""
    return name.rpartition("_")[0].replace("cuda_python", "cuda")


def test_each_probe_is_shipped_and_is_named_as_its_step() -> None:
    found = {p.name for p in FOLDER.iterdir() if p.is_file()}
    assert {f"frameworks/{name}" for name in found} == set(probes.FRAMEWORKS)
    steps = {name.replace(".", "_").replace("-", "_") for name in made.ANSWERS}
    assert steps == set(PARTS)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda p: p.name)
def test_probes_are_python_3_8_and_need_nothing_but_the_framework(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module).partition(".")[0])
    own = {p.stem for p in FOLDER.glob("*.py")}
    assert names <= own | FRAMEWORKS | set(sys.stdlib_module_names)


@pytest.mark.parametrize("name", PARTS)
class TestEachPart:
    """Every part ends in findings, whatever its framework does."""

    def test_a_framework_that_is_not_there(self, name: str, tmp_path: Path) -> None:
        broken = fake(
            tmp_path / "m",
            imported(name),
            "raise ImportError('libx.so.9: cannot open shared object file: No such file')",
        )
        ran = part(name, broken, tmp_path)
        assert ran.rc == 0, ran.err
        assert "Traceback" not in ran.out + ran.err
        check = made.found(with_run(ran), ran.step)
        assert check.verdict in {"fail", "skip"}
        assert check.blame == "image"
        assert "libx.so.9" in check.reason or "lacks" in check.reason

    def test_a_framework_that_ends_the_process(self, name: str, tmp_path: Path) -> None:
        ran = part(name, fake(tmp_path / "m", imported(name), "import os; os.abort()"), tmp_path)
        check = made.found(with_run(ran), ran.step)
        assert (check.verdict, check.blame) == ("fail", "image")
        assert "signal 6" in check.reason
        assert "in the stage: import" in check.reason

    def test_a_framework_that_exits(self, name: str, tmp_path: Path) -> None:
        ran = part(name, fake(tmp_path / "m", imported(name), "raise SystemExit(0)"), tmp_path)
        assert ran.rc == 0
        check = made.found(with_run(ran), ran.step)
        assert check.verdict == "fail"

    def test_a_framework_that_answers_in_its_place(self, name: str, tmp_path: Path) -> None:
        lie = json.dumps({"event": "start", "nonce": "0" * 16})
        ran = part(name, fake(tmp_path / "m", imported(name), f"print('{lie}')"), tmp_path)
        assert made.found(with_run(ran), ran.step).verdict == "inconclusive"


class TestRun:
    """A whole run: observe, next work, judge, on the driver that is made (`fake_cuda.c`)."""

    def test_nothing_is_run_of_a_torch_without_code_for_the_device(
        self, driver: Path, tmp_path: Path
    ) -> None:
        now = observed(driver, tmp_path, "sm_70 sm_80", "a kernel ran")
        names = [session.name for session in now.sessions]
        assert "torch.build" in names
        assert "torch.parts" not in names
        assert judge(now, ("torch",)).exit == 6
        assert "built for sm_70 sm_80; the device is 9.0" in made.found(now, "torch.build").reason

    def test_each_part_is_a_finding_of_its_own(self, driver: Path, tmp_path: Path) -> None:
        now = observed(driver, tmp_path, "sm_90", "no kernel image is available")
        steps = {s.name: [ran.step for ran in s.steps] for s in now.sessions}
        first, *parts = steps["torch.parts"]
        assert (first, len(parts)) == ("torch.parts", 7)
        # All but the one that the image has not what it needs for are tried again by themselves.
        assert steps["torch.apart"] == [one for one in parts if one != "torch.compile"]
        result = judge(now, ("torch",))
        assert result.exit == 6
        for check in result.suites[-1].checks:
            assert check.verdict in ({"pass"} if check.id == "torch.build" else {"fail", "skip"})
            assert "Traceback" not in check.reason
        assert "holds no code" in made.found(now, "torch.eager").reason
