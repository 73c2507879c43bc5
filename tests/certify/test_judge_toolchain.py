"""The judge on what the suite `toolchain` saw: compilers, code, loader, driver, lock."""

import json
import re

import pytest

from envbuild.certify.image import image_facts
from envbuild.certify.judge import judge
from envbuild.certify.seen import Ran, Seen, Session
from envbuild.values.codec import Pairs, replace
from tests.certify import samples
from tests.certify.judged import check, verdict
from tests.certify.samples import changed, runtime, seen


@pytest.mark.parametrize("text", ["", '{"event":"load","version":"x"}'])
def test_a_loader_probe_without_an_answer_is_no_pass(text: str) -> None:
    now = changed(seen(), "loads", rc=0 if text else 1, out=text)
    assert verdict(now, "toolchain.loader") == ("inconclusive", "suite")
    assert verdict(now, "toolchain.no-driver") == ("inconclusive", "suite")


def test_a_driver_that_is_absent_in_the_words_of_musl_is_absent() -> None:
    """Images of musl may have its loader under the name of glibc's."""
    loads = seen().step("loads")
    assert loads is not None
    glibc = r'(lib[^":]*): cannot open shared object file: No such'
    text, n = re.subn(glibc, r"Error loading shared library \1: No such", loads.out)
    assert n
    assert verdict(changed(seen(), "loads", out=text), "toolchain.no-driver")[0] == "pass"
    left = text.replace("No such file or directory", "Exec format error", 1)
    assert verdict(changed(seen(), "loads", out=left), "toolchain.no-driver") == ("fail", "image")


def test_a_cache_that_still_names_a_driver_which_is_gone_brings_none() -> None:
    """It was written in a container with the driver mounted, and the image made of that."""
    stale = "\tlibcuda.so.1 (libc6,x86-64) => /usr/local/nvidia/lib64/libcuda.so.1\n"
    now = changed(seen(), "ldconfig", out=stale)
    assert verdict(now, "toolchain.no-driver")[0] == "pass"
    assert image_facts(now).drivers == ()
    loads = now.step("loads")
    assert loads is not None
    left = loads.out.replace("No such file or directory", "Permission denied", 1)
    assert verdict(changed(now, "loads", out=left), "toolchain.no-driver") == ("fail", "image")


def looked_again(error: str) -> Seen:
    """A cache names a driver that its name does not give; asked for by path, this came."""
    path = "/opt/driver/libcuda.so.1"
    now = changed(seen(), "ldconfig", out=f"\tlibcuda.so.1 (libc6,x86-64) => {path}\n")
    event = {"event": "load", "name": path, "path": "" if error else path, "error": error}
    ran = Ran(step="loads-cached", rc=0, out=json.dumps({**event, "signal": 0, "version": 0}))
    session = Session(name="look-again", rc=0, steps=(ran,))
    return replace(now, sessions=(*now.sessions, session))


@pytest.mark.parametrize(
    "error",
    [
        "",  # for another processor: glibc-hwcaps
        "/opt/driver/libcuda.so.1: cannot open shared object file: Permission denied",
        "/opt/driver/libcuda.so.1: wrong ELF class: ELFCLASS32",
    ],
)
def test_a_driver_that_only_the_cache_shows_is_one_if_it_is_there(error: str) -> None:
    """glibc says that a cached library which this user may not read does not exist."""
    now = looked_again(error)
    assert verdict(now, "toolchain.no-driver") == ("fail", "image")
    assert image_facts(now).drivers == ("/opt/driver/libcuda.so.1",)


def test_a_cached_driver_that_is_gone_by_its_path_too_is_none() -> None:
    absent = "cannot open shared object file: No such file or directory"
    now = looked_again(f"/opt/driver/libcuda.so.1: {absent}")
    assert verdict(now, "toolchain.no-driver")[0] == "pass"
    silent = changed(now, "loads-cached", rc=1, out="")
    assert verdict(silent, "toolchain.no-driver") == ("fail", "image")


def test_a_control_whose_own_making_failed_is_none() -> None:
    now = changed(seen(), "cut libcudart.so.13", rc=1, out="", err="x: Permission denied")
    assert verdict(now, "toolchain.loader") == ("void", "suite")
    now = changed(seen(), "broken", rc=-1, timed_out=True, err="no_such_function")
    assert verdict(now, "toolchain.compiles") == ("void", "suite")


def test_a_pair_that_a_header_imitates_is_none() -> None:
    lie = "envbuild_pair host gcc 11 1 cuda 13 0 88 end\n"
    assert verdict(changed(seen(), "pair", out=samples.PAIR * 2), "toolchain.pair")[0] == "pass"
    now = changed(seen(), "pair", out=lie + samples.PAIR)
    now = changed(now, "pair-anyway", out=samples.PAIR + lie)
    assert verdict(now, "toolchain.pair") == ("fail", "image")


def test_a_header_that_refuses_what_the_matrix_allows() -> None:
    now = changed(seen(), "pair", rc=1, out="", err=samples.ERROR)
    assert verdict(now, "toolchain.pair") == ("fail", "image")
    now = changed(changed(seen(), "pair", rc=1, err="no"), "pair-anyway", rc=1, out="")
    assert verdict(now, "toolchain.pair") == ("fail", "image")


def test_a_compiler_that_made_nothing_is_not_replaced_by_prebuilt_code() -> None:
    now = replace(seen(), codes=tuple(c for c in seen().codes if c.name.startswith("prebuilt")))
    assert verdict(now, "toolchain.sass") == ("fail", "image")


def test_nvrtc_is_no_runtime_library_of_an_image_with_programs() -> None:
    nvrtc = samples.load_line("libnvrtc.so.13", "/usr/lib/libnvrtc.so.13")
    here = samples.load_line("libcudart.so.13", samples.CUDART, version=13000)
    text = samples.LOADS.replace(here, samples.missing_line("libcudart.so.13"))
    now = changed(runtime(seen()), "loads", out=f"{text}\n{nvrtc}")
    assert verdict(now, "toolchain.loader") == ("fail", "image")


def test_a_release_whose_runtime_library_nobody_knows_is_open() -> None:
    now = runtime(seen())
    now = replace(now, terms=replace(now.terms, cuda="99.1"))
    assert verdict(now, "toolchain.loader") == ("inconclusive", "suite")


def test_a_library_that_answers_for_the_probe_is_no_answer() -> None:
    lie = samples.missing_line("libcuda.so.1")
    real = samples.load_line("libcuda.so.1", error="loading it ended the process")
    for text in (f"{lie}\n{real}", f"{real}\n{lie}"):
        now = changed(seen(), "loads", out=samples.LOADS.replace(lie, text))
        assert verdict(now, "toolchain.no-driver") == ("inconclusive", "suite")
        assert judge(now, ("toolchain",)).exit == 8


@pytest.mark.parametrize("name", ["libcuda.so.1", "libnvidia-ml.so.1"])
@pytest.mark.parametrize("step", ["loads", "planted", "both"])
def test_a_driver_that_was_not_looked_for_is_not_absent(name: str, step: str) -> None:
    now = seen()
    for one in ("loads", "planted") if step == "both" else (step,):
        ran = now.step(one)
        assert ran is not None
        lines = [text for text in ran.out.splitlines() if f'"{name}"' not in text]
        now = changed(now, one, out="\n".join(lines))
    if step != "planted":
        assert verdict(now, "toolchain.no-driver") == ("inconclusive", "suite")
    assert verdict(now, "toolchain.no-driver")[0] != "pass"


def test_an_unknown_ceiling_is_inconclusive() -> None:
    now = replace(seen(), ceiling=None)
    assert verdict(now, "toolchain.pair")[0] == "inconclusive"
    assert judge(now, ("toolchain",)).exit == 8


@pytest.mark.parametrize("step", ["compile", "link", "program-shared"])
def test_a_step_that_hangs_is_inconclusive_and_not_the_images_fault(step: str) -> None:
    now = changed(seen(), step, rc=-1, signal=9, timed_out=True, ms=60000)
    assert judge(now, ("toolchain",)).exit == 8


def test_no_room_to_compile_is_not_the_images_fault() -> None:
    now = changed(seen(), "compile", rc=1, err="fatal error: No space left on device")
    assert verdict(now, "toolchain.compiles") == ("inconclusive", "machine")


def test_no_room_for_a_control_is_not_the_suites_fault() -> None:
    now = changed(seen(), "cut libcudart.so.13", rc=1, out="", err="x: No space left on device")
    assert verdict(now, "toolchain.loader") == ("inconclusive", "machine")


def test_two_readers_of_machine_code_must_agree() -> None:
    now = changed(seen(), "cuobjdump", rc=0, out="ELF file    1: image.1.sm_80.cubin\n")
    assert verdict(now, "toolchain.sass") == ("inconclusive", "suite")
    now = changed(seen(), "cuobjdump", rc=0, out="ELF file    1: image.1.sm_90.cubin\n")
    assert verdict(now, "toolchain.sass") == ("pass", None)


class TestNoCompiler:
    def test_a_runtime_stage_is_certified_with_prebuilt_code(self) -> None:
        result = judge(runtime(seen()), ("toolchain", "smoke"))
        assert result.exit == 0
        core = {c.id for s in result.suites for c in s.checks if c.core and s.name == "toolchain"}
        assert core == {"toolchain.sass", "toolchain.loader", "toolchain.no-driver"}
        assert check(result, "toolchain.compiles").verdict == "skip"

    @pytest.mark.parametrize(("target", "code"), [("90a", 0), ("100f", 9)])
    def test_prebuilt_code_must_run_on_the_promised_devices(self, target: str, code: int) -> None:
        now = runtime(seen("toolchain"))
        now = replace(now, terms=replace(now.terms, promise=(target,)))
        assert judge(now, ("toolchain",)).exit == code

    def test_any_other_image_without_one_fails(self) -> None:
        now = runtime(seen())
        now = replace(now, terms=replace(now.terms, stage="devel"))
        result = judge(now, ("toolchain",))
        assert check(result, "toolchain.compiles").verdict == "skip"
        assert check(result, "toolchain.compiles").blame == "image"
        assert result.exit == 6

    def test_and_still_gets_smoke_where_only_that_is_required(self) -> None:
        now = runtime(seen())
        now = replace(now, terms=replace(now.terms, stage="devel"))
        result = judge(now, ("smoke",))
        assert (result.exit, [s.verdict for s in result.suites]) == (0, ["fail", "pass"])
        labels = Pairs({"envbuild.stage": "devel"})
        now = replace(now, image=replace(now.image, labels=labels))
        assert judge(now, ("smoke",)).exit == 6

    def test_nvrtc_needs_no_pair(self) -> None:
        now = changed(seen("toolchain"), "which", out="nvrtc /prefix/bin/nvrtc\n")
        result = judge(now, ("toolchain",))
        assert check(result, "toolchain.pair").core is False
        assert check(result, "toolchain.pair").verdict == "skip"
        assert result.exit == 0

    def test_musl_is_a_skip_with_its_reason(self) -> None:
        now = runtime(seen())
        for step in ("loads", "loads-cut", "planted", "driver-planted", "smoke"):
            now = changed(now, step, rc=127, out="", err="cannot be started")
        result = judge(now, ("toolchain",))
        assert result.exit == 6
        assert "no glibc" in check(result, "toolchain.loader").reason
        for name in ("toolchain.loader", "toolchain.no-driver", "smoke.sums"):
            assert verdict(now, name) == ("skip", "image")
        assert judge(now, ("smoke",)).exit == 6


class TestLockDrift:
    PACKAGES = (
        '{"python": "3.11.2", "packages": {"nvidia-cuda-nvcc": "13.0.88"}, "torch": null, '
        '"error": ""}'
    )

    def locked(self, packages: str) -> Seen:
        now = changed(seen("toolchain"), "packages", rc=0, out=packages, err="")
        return replace(now, terms=replace(now.terms, wheels=samples.LOCKED))

    def test_same_versions_pass_and_the_control_is_seen(self) -> None:
        result = judge(self.locked(self.PACKAGES), ("toolchain",))
        found = check(result, "toolchain.lock-drift")
        assert (found.verdict, result.exit) == ("pass", 0)
        assert found.controls[0].red

    @pytest.mark.parametrize("packages", ["13.0.99", None])
    def test_another_or_no_version_fails(self, packages: str | None) -> None:
        text = (
            self.PACKAGES.replace("13.0.88", packages)
            if packages
            else self.PACKAGES.replace("nvidia-cuda-nvcc", "other")
        )
        result = judge(self.locked(text), ("toolchain",))
        assert (check(result, "toolchain.lock-drift").verdict, result.exit) == ("fail", 6)

    @pytest.mark.parametrize(
        ("locked", "verdict"),
        [("2.14.1", "pass"), ("2.14.1+cu126", "pass"), ("2.14.1+cpu", "fail")],
    )
    def test_the_local_version_of_a_wheel(self, locked: str, verdict: str) -> None:
        text = self.PACKAGES.replace("13.0.88", "2.14.1+cu126")
        now = self.locked(text)
        wheels = Pairs({"nvidia-cuda-nvcc": locked})
        now = replace(now, terms=replace(now.terms, wheels=wheels))
        result = judge(now, ("toolchain",))
        assert check(result, "toolchain.lock-drift").verdict == verdict

    def debian(self, dpkg: str | None) -> Seen:
        now = seen("toolchain")
        now = replace(now, terms=replace(now.terms, apt=Pairs({"gcc-12": "12.2-1", "z": "1+b1"})))
        return now if dpkg is None else changed(now, "dpkg", rc=0, out=dpkg)

    @pytest.mark.parametrize(
        ("dpkg", "verdict", "code"),
        [
            ("gcc-12=12.2-1\nz:amd64=1+b1\nother=3\nnoise\n", "pass", 0),
            ("gcc-12=12.2-2\nz=1+b1\n", "fail", 6),
            ("gcc-12=12.2-1\nz=1+b2\n", "fail", 6),
            ("gcc-12=12.2-1+deb12u1\nz=1+b1\n", "fail", 6),
            ("gcc-12=12.2-1\n", "fail", 6),
            (None, "inconclusive", 8),
        ],
    )
    def test_packages_of_the_distribution(self, dpkg: str, verdict: str, code: int) -> None:
        result = judge(self.debian(dpkg), ("toolchain",))
        assert (check(result, "toolchain.lock-drift").verdict, result.exit) == (verdict, code)

    def test_the_runtime_stage_may_lack_packages_but_not_have_others(self) -> None:
        for text, want in (("gcc-12=12.2-1", "pass"), ("z=2", "fail")):
            now = self.debian(text)
            now = runtime(now)
            result = judge(now, ("toolchain",))
            assert check(result, "toolchain.lock-drift").verdict == want

    def test_a_list_that_cannot_be_read_is_inconclusive(self) -> None:
        result = judge(self.locked("{"), ("toolchain",))
        assert (check(result, "toolchain.lock-drift").verdict, result.exit) == ("inconclusive", 8)

    def test_an_image_built_from_another_lock_fails(self) -> None:
        now = self.locked(self.PACKAGES)
        labels = Pairs({"envbuild.lock": "sha256:1"})
        now = replace(now, image=replace(now.image, labels=labels))
        for wheels in (now.terms.wheels, Pairs()):
            other = replace(now, terms=replace(now.terms, lock="sha256:2", wheels=wheels))
            assert verdict(other, "toolchain.lock-drift") == ("fail", "image")
        now = replace(now, terms=replace(now.terms, lock="sha256:1"))
        assert verdict(now, "toolchain.lock-drift") == ("pass", None)


def test_a_run_that_ended_before_it_compiled_blames_no_image() -> None:
    """Nothing was compiled, and nobody tried."""
    ended = replace(seen("toolchain"), codes=seen().codes[:2], sessions=seen().sessions[:1])
    found = check(judge(ended, ("toolchain",)), "toolchain.sass")
    assert (found.verdict, found.blame) == ("inconclusive", "machine")
    assert "not tried" in found.reason
