"""The probe files: what is shipped is what is listed, and what the sources give."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from envbuild import data
from envbuild.certify import probes, sass
from envbuild.errors import EnvbuildError, MachineError

ROOT = Path(__file__).resolve().parents[2]
KERNELS = data.folder("kernels")


def test_every_probe_file_has_its_hash() -> None:
    names = {name for name, _ in probes.hashes()}
    assert {"add.cu", "probe.h", "prebuilt/add.fatbin", "prebuilt/aarch64/probe"} <= names
    shipped = {p.relative_to(KERNELS).as_posix() for p in (KERNELS / "prebuilt").rglob("*")}
    assert shipped - names == {"prebuilt/SHA256SUMS", "prebuilt/x86_64", "prebuilt/aarch64"}
    assert sum(p.stat().st_size for p in (KERNELS / "prebuilt").rglob("*")) < 4 << 20


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_a_run_gets_all_of_it(arch: str, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        probes.stage(tmp_path / "probes", arch)
    finally:
        os.umask(before)
    for path in (tmp_path / "probes").rglob("*"):
        assert path.stat().st_mode & 0o044 == 0o044, path
    for name in ("steps", "probe"):
        assert os.access(tmp_path / "probes" / name, os.X_OK)
    for target in probes.OTHERS:
        cubin = (tmp_path / "probes" / f"other.{target}.cubin").read_bytes()
        assert sass.targets(cubin) == (target,)
    planted = {path.name for path in (tmp_path / "probes/planted").iterdir()}
    assert planted == set(probes.DRIVER_LIBRARIES)


def test_a_strange_architecture_is_said(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="riscv64"):
        probes.stage(tmp_path / "probes", "riscv64")


def test_a_changed_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "kernels"
    shutil.copytree(KERNELS, copy)
    (copy / "prebuilt/x86_64/probe").write_bytes(b"another program")
    monkeypatch.setattr(data, "folder", lambda _: copy)
    with pytest.raises(EnvbuildError, match="not what was shipped"):
        probes.stage(tmp_path / "probes", "x86_64")


@pytest.mark.slow
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the compilers are for x86_64")
def test_the_sources_give_the_shipped_files() -> None:
    """Needs a package index: 450 MB of compilers, kept in the user's cache with what they made.

    An empty cache, as a fresh machine has it, compiles everything.
    """
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, str(ROOT / "script/build-probes"), "--check"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
