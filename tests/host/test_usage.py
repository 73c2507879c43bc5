"""How busy a GPU is: of a made NVML, and where there is none."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from envbuild.host import usage
from envbuild.host.look import Look
from envbuild.io.proc import Completed
from envbuild.values.host import Usage


class NVMLError(Exception):
    """As pynvml has it."""


class Nvml:
    """Made: what pynvml answers, one list of utilisations a GPU, taken one a look."""

    NVMLError = NVMLError
    nvmlMemory_v2 = 33554472

    def __init__(self, *busy: list[int], reserved: bool = True, init: bool = True) -> None:
        self.busy = [list(one) for one in busy]
        self.reserved = reserved
        self.init = init

    def nvmlInit(self) -> None:
        if not self.init:
            raise NVMLError

    def nvmlDeviceGetCount(self) -> int:
        return len(self.busy)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetUUID(self, handle: int) -> str:
        return f"GPU-{handle}"

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> SimpleNamespace:
        if not self.busy[handle]:
            raise NVMLError
        return SimpleNamespace(gpu=self.busy[handle].pop(0))

    def nvmlDeviceGetMemoryInfo(self, handle: int, version: int) -> SimpleNamespace:
        assert version == self.nvmlMemory_v2
        if not self.reserved:
            raise NVMLError
        return SimpleNamespace(used=(handle + 1) << 30, total=80 << 30)


def test_the_least_of_several_looks_counts() -> None:
    found = usage.read(Nvml([97, 93, 99], [40, 0, 3]), 3, pause=0)
    assert found == (
        Usage(uuid="GPU-0", busy=93, used_mib=1024, total_mib=81920),
        Usage(uuid="GPU-1", busy=0, used_mib=2048, total_mib=81920),
    )


def test_what_the_driver_refuses_stays_unknown() -> None:
    assert usage.read(Nvml([], reserved=False), 1, pause=0) == (Usage(uuid="GPU-0"),)
    assert usage.read(Nvml([1], init=False), 1, pause=0) == ()
    assert usage.read(Nvml(), 3, pause=0) == ()


def look(root: Path, out: str, rc: int = 0) -> tuple[Look, list[Sequence[str]]]:
    asked: list[Sequence[str]] = []

    def runner(argv: Sequence[str], env: Mapping[str, str], limit: float) -> Completed:
        assert "/usr/lib/wsl/lib" in env["LD_LIBRARY_PATH"]
        asked.append(argv)
        return Completed(tuple(argv), rc, out, "", False, 0.1)

    return Look(root, {}, "Linux", runner), asked


def test_no_process_is_started_where_there_is_no_driver(tmp_path: Path) -> None:
    now, asked = look(tmp_path, "")
    assert usage.probe(now, "before") == ()
    assert asked == []


@pytest.mark.parametrize(("when", "looks"), [("before", "3"), ("after", "1")])
def test_the_child_is_asked_and_its_answer_dated(tmp_path: Path, when: str, looks: str) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidiactl").touch()
    now, asked = look(tmp_path, '[{"uuid":"GPU-1","busy":7,"used_mib":9,"total_mib":10}]')
    assert usage.probe(now, when) == (
        Usage(uuid="GPU-1", when=when, busy=7, used_mib=9, total_mib=10),
    )
    assert asked[0][0] == sys.executable
    assert asked[0][3] == looks


@pytest.mark.parametrize(("out", "rc"), [("", 0), ("{}", 0), ("[", 0), ("[]", 1), ("[" * 9999, 0)])
def test_an_answer_that_is_none(tmp_path: Path, out: str, rc: int) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidiactl").touch()
    assert usage.probe(look(tmp_path, out, rc)[0], "before") == ()


def test_the_real_child_here_answers() -> None:
    """Whatever this machine has, the child ends by itself and prints one line."""
    from envbuild.host.look import here

    now = here()
    done = now.run(sys.executable, "-c", usage.CHILD, "1", *filter(None, sys.path))
    assert done.rc == 0, done.err
    assert done.out.strip().startswith("[")
