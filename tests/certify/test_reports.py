"""What people and CI see; and that neither is broken by what an image prints."""

from xml.etree import ElementTree as ET

import pytest

from envbuild.certify import run
from envbuild.certify.report.junit import junit
from envbuild.certify.report.table import table
from envbuild.certify.seen import Choice
from envbuild.certify.suites import SUITES
from envbuild.values.certificate import Certificate
from envbuild.values.codec import dump, load, replace
from tests.certify.samples import changed, seen, smoke


def test_a_certificate_says_only_what_ran() -> None:
    found = run.state(seen("toolchain"), ("toolchain",))
    assert found.not_run == tuple(SUITES)[1:]
    assert load(Certificate, dump(found), "c") == found
    assert run.state(seen(), ("smoke",), replayed=True).recorded == "replayed"


def test_runtimes_are_told_apart() -> None:
    torch = '{"version": "2.14.1+cu126", "cuda": "12.6"}'
    packages = f'{{"python": "3.11", "packages": {{}}, "torch": {torch}, "error": ""}}'
    found = run.state(changed(seen(), "packages", rc=0, out=packages), ("smoke",)).runtimes
    assert (found.driver, found.driver_cuda) == ("580.159.04", "13.0")
    assert (found.toolkit, found.framework) == ("13.0.88", "torch 2.14.1+cu126 (CUDA 12.6)")


def test_the_table_of_a_pass() -> None:
    text = table(run.state(seen(), ("toolchain", "smoke")), "c.json (unsigned)")
    assert "toolchain pass 5/5  nvcc 13.0.88; gcc 12.2 allowed (up to 15); SASS for sm_90" in text
    assert "smoke     pass 4/4  16 777 219 sums right, each call checked; driver 13.0" in text
    assert "controls  10 of 10 turned red: " in text
    assert "CERTIFIED toolchain, smoke, cc 9.0, config sha256:aaaaaaaaaaaa… on GPU-1" in text
    assert text.splitlines()[3].endswith("  → c.json (unsigned)")


def test_the_table_without_a_gpu_names_the_choice() -> None:
    now = replace(seen("smoke"), sessions=(), choice=Choice(reason="there is no NVIDIA GPU here"))
    text = table(run.state(now, ("smoke",)))
    assert "NOT CERTIFIED" in text
    assert "(exit 4)" in text
    assert text.count("there is no NVIDIA GPU here") == 1
    assert "--require toolchain needs no GPU" in text


@pytest.mark.parametrize("noise", ["<&\"'>]]>", "\x00\x1b[31m\x08", "\ud800"])
def test_junit_is_xml_whatever_an_image_prints(noise: str) -> None:
    now = changed(seen(), "compile", rc=1, err=f"error {noise}")
    root = ET.fromstring(junit(run.state(now, ("toolchain", "smoke"))))  # noqa: S314
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("10", "1", "1")
    failure = root.find(".//failure")
    assert failure is not None
    assert "error" in (failure.get("message") or "")


def test_a_core_check_that_was_skipped_is_a_failure_in_ci() -> None:
    now = replace(seen("smoke"), sessions=(), choice=Choice(reason="no GPU"))
    root = ET.fromstring(junit(run.state(now, ("smoke",))))  # noqa: S314
    assert (root.get("failures"), root.get("skipped")) == ("4", "0")


def test_a_void_check_is_an_error_in_ci() -> None:
    now = smoke(seen(), ('"bad-launch","answer":1', '"bad-launch","answer":0'))
    root = ET.fromstring(junit(run.state(now, ("smoke",))))  # noqa: S314
    assert root.get("errors") == "1"
