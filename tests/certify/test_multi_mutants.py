"""Mutants of what runs on several GPUs: each must take its check's pass away on the made driver."""

import os
import subprocess
from pathlib import Path

import pytest

from envbuild.certify.judge import judge
from envbuild.certify.seen import Ran, Seen, Session
from envbuild.values.codec import replace
from envbuild.values.host import Gpu
from tests.certify import here, samples

RUNNER = Path(__file__).parents[2] / "kernels" / "runner"
SHARED = ("session.c", "several.c", "loads.c")
COMMANDS = {"peers": "multi.copies", "reduce": "multi.sum"}
MUTANTS = [
    ("peers", "poison(there) || copy(here, there) || compare", "poison(there) || compare"),
    ("peers", "return enter(there) || CHECK(fill, (there->to, POISON, NUMBERS)) ||", "return"),
    ("peers", "i < NUMBERS; i++)\n        wrong", "i < 0; i++)\n        wrong"),
    ("peers", 'whole("wrong", wrong);', 'whole("wrong", 0);'),
    ("peers", "number(NUMBERS / 2, 0) + 1;", "number(NUMBERS / 2, 0);"),
    ("peers", "bad = i != j && pair", "bad = i < j && pair"),
    ("peers", 'whole("compared", NUMBERS);', 'whole("compared", 0);'),
    ("reduce", "wrong += !(host[i] == right);", ";"),
    ("reduce", "wrong += !(host[i] == right);", "wrong += host[i] < right;"),
    ("reduce", "number(NUMBERS / 2, (unsigned)last) + 1;", "number(NUMBERS / 2, (unsigned)last);"),
    ("reduce", 'sum(all) || settle(all) || compare("changed"', 'compare("changed"'),
    ("reduce", "(unsigned)k);\n            wrong", "(unsigned)(k / 2));\n            wrong"),
    ("reduce", 'whole("ranks", all->count);', 'whole("ranks", 1);'),
    ("reduce", 'whole("wrong", wrong);', 'whole("wrong", 0);'),
]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = here.fake_libcuda(tmp_path_factory.mktemp("driver"))
    argv = ["gcc", "-O1", "-shared", "-fPIC", "-o", str(folder / "libnccl.so.2")]
    subprocess.run([*argv, Path(__file__).with_name("fake_nccl.c")], check=True)
    return folder


def verdict(driver: Path, folder: Path, command: str, old: str = "", new: str = "") -> str:
    """Of the check, with one text of its part of the runner replaced."""
    text = (RUNNER / f"{command}.c").read_text(encoding="utf-8")
    assert not old or text.count(old) == 1, old
    # Fewer numbers are as good here, where a CPU plays the devices.
    text = text.replace("NUMBERS = 4 << 20", "NUMBERS = 1 << 16")
    (folder / f"{command}.c").write_text(text.replace(old, new) if old else text)
    (folder / "main.c").write_text(
        f'#include "probe.h"\nint main(int n, char **a) {{ (void)n; return {command}(a + 1); }}\n'
    )
    program = folder / "program"
    sources = [*(RUNNER / name for name in SHARED), folder / f"{command}.c", folder / "main.c"]
    options = ["-std=gnu11", "-O2", f"-I{RUNNER}", "-o", str(program)]
    subprocess.run(["gcc", *options, *map(str, sources), "-ldl"], check=True)
    env = os.environ | {"LD_LIBRARY_PATH": str(driver), "ENVBUILD_FAKE": "gpus=2"}
    argv = [str(program), "--nonce", samples.NONCE]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
    name = COMMANDS[command]
    return next(
        check.verdict
        for suite in judge(_seen(name, done.stdout), ("multi",)).suites
        for check in suite.checks
        if check.id == name
    )


def _seen(name: str, out: str) -> Seen:
    two = tuple(Gpu(name="made", uuid=f"GPU-{n}", cc="9.0", source="nvml") for n in (1, 2))
    now = replace(samples.seen("toolchain", "smoke", "multi"), gpus=two)
    session = Session(name=name, rc=0, steps=(Ran(step=name, rc=0, out=out),))
    return replace(now, sessions=(*now.sessions, session))


@pytest.mark.parametrize("command", COMMANDS)
def test_the_unbroken_one_passes(driver: Path, tmp_path: Path, command: str) -> None:
    assert verdict(driver, tmp_path, command) == "pass"


@pytest.mark.parametrize(("command", "old", "new"), MUTANTS)
def test_a_mutant_does_not(driver: Path, tmp_path: Path, command: str, old: str, new: str) -> None:
    assert verdict(driver, tmp_path, command, old, new) != "pass"
