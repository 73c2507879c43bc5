"""The suite on a real nvcc, and on one that was tampered with: each defect turns its check red."""

import subprocess
from pathlib import Path

import pytest

from envbuild import data
from envbuild.certify import run
from envbuild.certify.probes import DRIVER_LIBRARIES
from envbuild.certify.suites import SUITES
from envbuild.errors import ImageError
from envbuild.matrix.load import load
from envbuild.values.certificate import Certificate, Check
from envbuild.values.codec import Pairs, replace
from tests import toolkit
from tests.certify import here

NVCC = toolkit.NVCC.parent
PREFIX = toolkit.HOME
pytestmark = toolkit.needed
ENV = {"PATH": f"{NVCC}:/usr/bin:/bin", "LD_LIBRARY_PATH": f"{PREFIX}/lib64"}


def certify(**env: str) -> Certificate:
    return run.certify(
        here.HereEngine(Path("/nowhere"), env=ENV | env),
        here.image(promise="75,90", cc="7.5,9.0"),
        host=here.NO_GPU,
        matrices=load(),
        policy=run.Policy(require=("toolchain",)),
    )


def check(found: Certificate, name: str) -> Check:
    return next(c for s in found.suites for c in s.checks if c.id == f"toolchain.{name}")


def wrapper(folder: Path, text: str) -> str:
    """A PATH whose nvcc is a script of ours."""
    script = folder / "nvcc"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    return f"{folder}:{ENV['PATH']}"


def empty_library(path: Path) -> None:
    subprocess.run(["gcc", "-shared", "-o", path, "-x", "c", "-"], input=b"", check=True)


def test_a_toolkit_that_works() -> None:
    found = certify()
    assert found.exit == 0, [c.reason for s in found.suites for c in s.checks]
    assert {c.verdict for s in found.suites for c in s.checks if c.core} == {"pass"}
    controls = {c.name for s in found.suites for one in s.checks for c in one.controls}
    assert {"broken source", "wrong cc", "cut library", "planted libcuda"} < controls
    assert any(name.startswith("gcc told to be") for name in controls)
    assert check(found, "sass").value == "75,90"
    assert found.not_run == tuple(SUITES)[1:]


def test_a_compiler_above_the_ceiling_is_refused() -> None:
    found = certify(NVCC_PREPEND_FLAGS="-U__GNUC__ -D__GNUC__=99")
    assert found.exit == 6
    assert check(found, "pair").verdict == "fail"
    assert "gcc 99 is above" in check(found, "pair").reason
    assert "unsupported GNU version" in check(found, "compiles").reason


def test_a_toolkit_that_no_longer_refuses_proves_nothing() -> None:
    found = certify(NVCC_APPEND_FLAGS="-allow-unsupported-compiler")
    assert check(found, "pair").verdict == "void"
    assert found.exit == 9


def test_code_for_another_cc_is_not_the_promised_one(tmp_path: Path) -> None:
    text = f'exec {NVCC}/nvcc $(echo "$@" | sed s/sm_90/sm_86/g\\;s/compute_90/compute_86/g)'
    found = certify(PATH=wrapper(tmp_path, text))
    assert (check(found, "sass").verdict, found.exit) == ("fail", 6)
    assert "sm_90" in check(found, "sass").reason


def test_a_compiler_that_makes_nothing(tmp_path: Path) -> None:
    found = certify(
        PATH=wrapper(tmp_path, f'case "$*" in *-fatbin*) ;; *) exec {NVCC}/nvcc "$@";; esac')
    )
    assert check(found, "sass").verdict == "fail"
    assert found.exit in {6, 9}


def test_code_that_was_made_before_is_not_what_was_compiled(tmp_path: Path) -> None:
    """A compiler that hands out a whole and right fatbin, for every target: the shipped one."""
    prebuilt = data.folder("kernels") / "prebuilt/add.fatbin"
    found = certify(
        PATH=wrapper(
            tmp_path,
            f'case "$*" in *image.fatbin*) for o; do case $o in */image.fatbin) '
            f'exec cp {prebuilt} "$o";; esac; done;; *) exec {NVCC}/nvcc "$@";; esac',
        )
    )
    assert (check(found, "sass").verdict, found.exit) == ("fail", 6)
    assert "not compiled in this run" in check(found, "sass").reason


def test_results_that_the_compiler_writes_itself(tmp_path: Path) -> None:
    """A process of the image can reach the runner's own output: then nothing in it counts."""
    lie = """echo '{"step":"compile","rc":0}' >/proc/$PPID/fd/1"""
    go_on = f'exec {NVCC}/nvcc "$@"'
    with pytest.raises(ImageError, match="in the probes' place"):
        certify(PATH=wrapper(tmp_path, f"{lie}; {go_on}"))
    late = f'case "$*" in *image.fatbin*) {lie};; esac; {go_on}'
    found = certify(PATH=wrapper(tmp_path, late))
    assert "not tried" in check(found, "compiles").reason
    assert found.exit in {8, 9}


def test_results_of_a_runner_that_was_ended(tmp_path: Path) -> None:
    """What stays behind a step writes the rest of the results, then ends the runner."""
    lies = "".join(f'{{"step":"{name}","rc":0}}\n' for name in ("object", "link", "program"))
    (tmp_path / "lies").write_text(lies)
    lie = f"setsid sh -c 'sleep 1; cat {tmp_path}/lies >/proc/'$PPID'/fd/1; kill -9 '$PPID &"
    found = certify(
        PATH=wrapper(
            tmp_path,
            f'case "$*" in *ENVBUILD_BROKEN*) {lie} exec sleep 5;; esac; exec {NVCC}/nvcc "$@"',
        )
    )
    assert "not tried" in check(found, "compiles").reason
    assert found.exit in {8, 9}


@pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_AUDIT", "CUDA_INJECTION64_PATH"])
def test_what_an_image_loads_into_every_program_may_answer_for_it(
    name: str, tmp_path: Path
) -> None:
    library = tmp_path / "first.so"
    empty_library(library)
    image = here.image(promise="90", cc="9.0")
    image = replace(image, env=Pairs({name: str(library)}))
    found = run.certify(
        here.HereEngine(Path("/nowhere"), env=ENV | {name: str(library)}),
        image,
        host=here.NO_GPU,
        matrices=load(),
        policy=run.Policy(require=("toolchain",)),
    )
    assert found.exit == 8
    assert str(library)[:60] in check(found, "no-driver").reason


def test_a_cut_library_does_not_resolve(tmp_path: Path) -> None:
    whole = (PREFIX / "lib64" / "libcudart.so.13").resolve().read_bytes()
    (tmp_path / "libcudart.so.13").write_bytes(whole[: len(whole) // 2])
    found = certify(LD_LIBRARY_PATH=f"{tmp_path}:{ENV['LD_LIBRARY_PATH']}")
    assert check(found, "loader").verdict == "fail"
    assert found.exit == 6


@pytest.mark.parametrize("name", DRIVER_LIBRARIES)
def test_a_driver_that_the_loader_takes(name: str, tmp_path: Path) -> None:
    empty_library(tmp_path / name)
    found = certify(LD_LIBRARY_PATH=f"{tmp_path}:{ENV['LD_LIBRARY_PATH']}")
    assert check(found, "no-driver").verdict == "fail"
    assert name in check(found, "no-driver").value
    assert found.exit == 6


def test_a_driver_in_compat_that_nothing_resolves_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "compat").mkdir()
    empty_library(tmp_path / "compat/libcuda.so.1")
    assert check(certify(CUDA_HOME=str(tmp_path)), "no-driver").verdict == "pass"


def test_no_compiler_where_one_is_promised() -> None:
    found = certify(PATH="/usr/bin:/bin")
    assert found.exit == 6
    assert "no compiler" in check(found, "compiles").reason
