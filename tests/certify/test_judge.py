"""Each check must pass, fail, and be void when its control stays green; then suites and exits."""

import pytest

from envbuild.certify import verdicts
from envbuild.certify.judge import judge
from envbuild.certify.seen import Code, Seen
from envbuild.values.codec import Pairs, dump, load, replace
from tests.certify import samples
from tests.certify.judged import check, failed, verdict
from tests.certify.samples import changed, seen, smoke, without


def test_a_good_image_on_a_good_machine_is_certified() -> None:
    result = judge(seen(), ("toolchain", "smoke"))
    assert (result.verdict, result.exit) == ("pass", 0)
    assert [(s.name, s.verdict, len(s.checks)) for s in result.suites] == [
        ("toolchain", "pass", 6),
        ("smoke", "pass", 4),
    ]
    controls = [c for s in result.suites for one in s.checks for c in one.controls]
    assert len(controls) == 10
    assert all(control.red for control in controls)


def test_observations_can_be_judged_again_from_a_file() -> None:
    again = load(Seen, dump(seen()), "observations")
    assert judge(again, ("smoke",)) == judge(seen(), ("smoke",))


def _no_version() -> str:
    return samples.LOADS.replace('"version":13000', '"version":0')


FAILS = [
    ("toolchain.compiles", lambda s: changed(s, "compile", rc=2, err="error: no"), "image"),
    ("toolchain.compiles", lambda s: changed(s, "link", rc=1, err="cannot find -lcudart"), "image"),
    ("toolchain.compiles", lambda s: changed(s, "program", out="runtime?"), "image"),
    ("toolchain.compiles", lambda s: changed(s, "program", rc=-1, signal=11), "image"),
    (
        "toolchain.pair",
        lambda s: changed(s, "pair", out="envbuild_pair host gcc 16 1 cuda 13 0 88 end"),
        "image",
    ),
    (
        "toolchain.pair",
        lambda s: changed(
            changed(s, "pair", rc=1, out="", err=samples.ERROR),
            "pair-anyway",
            out="envbuild_pair host gcc 16 1 cuda 13 0 88 end",
        ),
        "image",
    ),
    (
        "toolchain.pair",
        lambda s: changed(s, "pair", out="envbuild_pair host clang 21 0 cuda 13 0 88 end"),
        "image",
    ),
    (
        "toolchain.sass",
        lambda s: replace(s, codes=(Code(name="image", sha256="", targets=("80",)), *s.codes[:2])),
        "image",
    ),
    (
        "toolchain.sass",
        lambda s: replace(s, codes=(Code(name="image", sha256="", error="cut"), *s.codes[:2])),
        "image",
    ),
    (
        "toolchain.loader",
        lambda s: changed(
            s, "loads", out=samples.LOADS.replace(samples.CUDART, "").replace("13000", "0")
        ),
        "image",
    ),
    ("toolchain.loader", lambda s: changed(s, "program-shared", rc=127, err="error"), "image"),
    (
        "toolchain.loader",
        lambda s: changed(s, "loads", out=samples.LOADS.replace("13000", "13020")),
        "image",
    ),
    (
        "toolchain.compiles",
        lambda s: replace(s, terms=replace(s.terms, cuda="13.5")),
        "image",
    ),
    (
        "toolchain.no-driver",
        lambda s: changed(
            s,
            "loads",
            out=samples.LOADS.replace(
                samples.missing_line("libcuda.so.1"),
                samples.load_line("libcuda.so.1", "/usr/lib/libcuda.so.535.1"),
            ),
        ),
        "image",
    ),
    *(
        (
            "toolchain.no-driver",
            lambda s, error=error: changed(
                s,
                "loads",
                out=samples.LOADS.replace(
                    samples.missing_line("libcuda.so.1"),
                    samples.load_line("libcuda.so.1", error=error),
                ),
            ),
            "image",
        )
        for error in (
            "loading it ended the process",
            "/usr/lib/libcuda.so.1: file too short",
            "libX11.so.6: cannot open shared object file: No such file or directory",
        )
    ),
    ("toolchain.loader", lambda s: changed(s, "loads", out=_no_version()), "image"),
    (
        "toolchain.no-driver",
        lambda s: changed(
            changed(s, "loads", rc=1, out=""),
            "ldconfig",
            out="\tlibnvidia-ml.so.1 (libc6,x86-64) => /usr/lib/libnvidia-ml.so.1\n",
        ),
        "image",
    ),
    (
        "smoke.driver",
        lambda s: smoke(s, ('"cuda":13000,"code":0', '"cuda":0,"code":999')),
        "machine",
    ),
    (
        "smoke.code",
        lambda s: smoke(s, *failed("launched", "module_load", 209)),
        "machine",
    ),
    ("smoke.calls", lambda s: smoke(s, *failed("launched", "synchronize", 700)), "machine"),
    ("smoke.sums", lambda s: smoke(s, ('"wrong":0,', '"wrong":7,')), "machine"),
]


@pytest.mark.parametrize(("name", "mutate", "blame"), FAILS)
def test_each_check_can_fail(name, mutate, blame) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    assert verdict(seen(), name)[0] == "pass"
    assert verdict(mutate(seen()), name) == ("fail", blame)


def test_what_failed_below_the_required_suite_is_not_certified() -> None:
    """What is seen to be wrong, a cut libcudart or a baked libnvidia-ml."""
    for name, mutate, _ in FAILS[:19]:
        assert name.startswith("toolchain.")
        assert judge(mutate(seen()), ("smoke",)).exit == 6  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_AUDIT", "CUDA_INJECTION64_PATH", "file"])
def test_what_is_in_every_program_may_answer_for_it(name: str) -> None:
    now = changed(seen(), "preload", rc=1, err="no such file")
    assert judge(now, ("smoke",)).exit == 0
    if name == "file":
        now = changed(now, "preload", rc=0, out="/opt/first.so\n")
    else:
        env = Pairs({name: "/opt/first.so"})
        now = replace(now, image=replace(now.image, env=env))
    result = judge(now, ("smoke",))
    assert (result.exit, result.verdict) == (8, "inconclusive")
    assert "/opt/first.so" in check(result, "smoke.sums").reason
    # A failure was seen, whoever else had a say; and a prefix is not an image.
    bad = changed(now, "compile", rc=2, err="error: no")
    assert verdict(bad, "toolchain.compiles") == ("fail", "image")
    prefix = replace(now, subject=replace(now.subject, kind="prefix", name="/prefix"))
    assert judge(prefix, ("smoke",)).exit == 0


def test_no_exit_code_without_a_core_check_that_passed() -> None:
    passed = check(judge(seen(), ("smoke",)), "smoke.sums")
    assert verdicts.exit_code([passed]) == 0
    assert verdicts.exit_code([]) == 9
    assert verdicts.exit_code([replace(passed, core=False)]) == 9
    assert verdicts.exit_code([passed, replace(passed, verdict="skip")]) == 9
    assert verdicts.run_exit([]) == 9
    alone = verdicts.suite("smoke", [passed], required=False, seconds=0.0)
    assert verdicts.run_exit([alone]) == 9


GREEN = [
    ("toolchain.compiles", lambda s: changed(s, "broken", rc=0, err="")),
    ("toolchain.compiles", lambda s: changed(s, "broken", rc=1, err="another error")),
    ("toolchain.pair", lambda s: changed(s, "ceiling gcc told to be 16", rc=0, err="")),
    (
        "toolchain.pair",
        lambda s: changed(s, "ceiling gcc told to be 16", rc=1, err="no such file"),
    ),
    (
        "toolchain.sass",
        lambda s: replace(s, codes=(*s.codes[:3], Code(name="other", sha256="", targets=("90",)))),
    ),
    (
        "toolchain.loader",
        lambda s: changed(s, "loads-cut", out=samples.load_line("libcudart.so.13", "/x/y")),
    ),
    ("toolchain.no-driver", lambda s: changed(s, "planted", out=samples.LOADS)),
    ("smoke.code", lambda s: smoke(s, ('"cc":"6","answer":209', '"cc":"6","answer":0'))),
    ("smoke.code", lambda s: smoke(s, ('"cc":"6","answer":209', '"cc":"6","answer":700'))),
    ("smoke.calls", lambda s: smoke(s, ('"bad-launch","answer":1', '"bad-launch","answer":0'))),
    ("smoke.sums", lambda s: smoke(s, ('"wrong":1,', '"wrong":0,'))),
    ("smoke.sums", lambda s: smoke(s, (f'"wrong":{samples.COUNT},', '"wrong":3,'))),
    (
        "smoke.driver",
        lambda s: changed(s, "driver-planted", out='{"event":"driver","path":"/usr/lib/x"}'),
    ),
]


@pytest.mark.parametrize(("name", "mutate"), GREEN)
def test_a_control_that_stays_green_voids_its_check(name, mutate) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    now = mutate(seen())
    assert verdict(now, name) == ("void", "suite")
    assert judge(now, (name.split(".")[0],)).exit == 9


CONTROLS = [
    ("toolchain.compiles", "broken"),
    ("toolchain.pair", "ceiling gcc told to be 16"),
    ("toolchain.loader", "loads-cut"),
    ("toolchain.no-driver", "planted"),
    ("smoke.driver", "driver-planted"),
]


@pytest.mark.parametrize(("name", "step"), CONTROLS)
def test_a_check_whose_control_never_ran_is_void(name: str, step: str) -> None:
    assert verdict(without(seen(), step), name) == ("void", "suite")


def test_nothing_run_is_exit_9() -> None:
    assert judge(replace(seen(), asked=()), ("smoke",)).exit == 9
    assert judge(seen("toolchain"), ("smoke",)).exit == 9
    assert judge(replace(seen("toolchain"), sessions=(), codes=()), ("toolchain",)).exit in {8, 9}
