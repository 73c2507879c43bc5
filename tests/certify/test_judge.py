"""Each check must pass, fail, and be void when its control stays green; then suites and exits."""

import pytest

from envbuild.certify import verdicts
from envbuild.certify.judge import Judgement, judge
from envbuild.certify.seen import Choice, Code, Seen
from envbuild.values.certificate import Check
from envbuild.values.codec import Pairs, dump, load, replace
from envbuild.values.host import Gpu
from tests.certify import samples
from tests.certify.samples import changed, runtime, seen, smoke, without


def check(result: Judgement, name: str) -> Check:
    return next(c for suite in result.suites for c in suite.checks if c.id == name)


def verdict(now: Seen, name: str) -> tuple[str, str | None]:
    found = check(judge(now, ("toolchain", "smoke")), name)
    return found.verdict, found.blame


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
            s, "ldconfig", out="\tlibnvidia-ml.so.1 (libc6,x86-64) => /usr/lib/libnvidia-ml.so.1\n"
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
        lambda s: smoke(s, *_failed("launched", "module_load", 209)),
        "machine",
    ),
    ("smoke.calls", lambda s: smoke(s, *_failed("launched", "synchronize", 700)), "machine"),
    ("smoke.sums", lambda s: smoke(s, ('"wrong":0,', '"wrong":7,')), "machine"),
]


def _failed(instead: str, call: str, code: int) -> tuple[tuple[str, str], ...]:
    """Edits that end the answer with a failing call at the line of one event."""
    lines = list(samples.SMOKE_LINES)
    at = next(i for i, line in enumerate(lines) if f'"{instead}"' in line)
    rest = "\n".join(lines[at:])
    end = lines[-1].replace('"bad":0', '"bad":1')
    return ((rest, f'{{"event":"failed","call":"{call}","says":"X","code":{code}}}\n{end}'),)


@pytest.mark.parametrize(("name", "mutate", "blame"), FAILS)
def test_each_check_can_fail(name, mutate, blame) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    assert verdict(seen(), name)[0] == "pass"
    assert verdict(mutate(seen()), name) == ("fail", blame)


@pytest.mark.parametrize("text", ["", '{"event":"load","version":"x"}'])
def test_a_loader_probe_without_an_answer_is_no_pass(text: str) -> None:
    now = changed(seen(), "loads", rc=0 if text else 1, out=text)
    assert verdict(now, "toolchain.loader") == ("inconclusive", "suite")
    assert verdict(now, "toolchain.no-driver") == ("inconclusive", "suite")


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


def test_a_header_that_refuses_what_the_matrix_allows() -> None:
    now = changed(seen(), "pair", rc=1, out="", err=samples.ERROR)
    assert verdict(now, "toolchain.pair") == ("fail", "image")
    now = changed(changed(seen(), "pair", rc=1, err="no"), "pair-anyway", rc=1, out="")
    assert verdict(now, "toolchain.pair") == ("fail", "image")


def test_a_compiler_that_made_nothing_is_not_replaced_by_prebuilt_code() -> None:
    now = replace(seen(), codes=tuple(c for c in seen().codes if c.name.startswith("prebuilt")))
    assert verdict(now, "toolchain.sass") == ("fail", "image")


def test_an_answer_that_names_no_driver_is_none() -> None:
    lines = [text for text in samples.SMOKE_LINES if '"event":"driver"' not in text]
    now = changed(seen(), "smoke", out="\n".join(lines))
    assert verdict(now, "smoke.driver") == ("inconclusive", "suite")


@pytest.mark.parametrize(
    ("event", "name"), [("launched", "code"), ("changed", "sums"), ("skipped", "sums")]
)
def test_an_answer_with_a_part_left_out_is_open(event: str, name: str) -> None:
    lines = [text for text in samples.SMOKE_LINES if f'"event":"{event}"' not in text]
    now = changed(seen(), "smoke", out="\n".join(lines))
    assert verdict(now, f"smoke.{name}") == ("inconclusive", "suite")


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


@pytest.mark.parametrize("answer", [200, 218, 300])
def test_what_a_driver_answers_to_code_of_another_cc(answer: int) -> None:
    other = '"cc":"6","answer":'
    assert verdict(smoke(seen(), (f"{other}209", f"{other}{answer}")), "smoke.code")[0] == "pass"
    for wrong in (answer + 1, 1, 999):
        now = smoke(seen(), (f"{other}209", f"{other}{wrong}"))
        assert verdict(now, "smoke.code")[0] == "void"


@pytest.mark.parametrize(
    ("answer", "want"), [(9, "pass"), (701, "pass"), (10, "void"), (700, "void"), (2, "void")]
)
def test_what_a_driver_answers_to_a_bad_launch(answer: int, want: str) -> None:
    bad = '"bad-launch","answer":'
    assert verdict(smoke(seen(), (f"{bad}1", f"{bad}{answer}")), "smoke.calls")[0] == want


def test_whose_code_ran_and_which_driver_is_said() -> None:
    for now, code in ((seen(), "image"), (runtime(seen()), "prebuilt")):
        result = judge(now, ("smoke",))
        assert check(result, "smoke.code").inputs.get("code") == code
        assert check(result, "smoke.sums").inputs.get("code") == code
        assert check(result, "smoke.driver").inputs.get("forward compatibility") == "no"
    compat = ("/usr/lib/libcuda.so.580.159.04", "/usr/local/cuda/compat/libcuda.so.580")
    result = judge(smoke(seen(), compat), ("smoke",))
    assert check(result, "smoke.driver").inputs.get("forward compatibility") == "yes"


def test_no_exit_code_without_a_core_check_that_passed() -> None:
    passed = check(judge(seen(), ("smoke",)), "smoke.sums")
    assert verdicts.exit_code([passed]) == 0
    assert verdicts.exit_code([]) == 9
    assert verdicts.exit_code([replace(passed, core=False)]) == 9
    assert verdicts.exit_code([passed, replace(passed, verdict="skip")]) == 9
    assert verdicts.run_exit([]) == 9
    alone = verdicts.suite("smoke", [passed], required=False, seconds=0.0)
    assert verdicts.run_exit([alone]) == 9


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


class TestMachine:
    def test_no_gpu_is_exit_4(self) -> None:
        now = replace(seen("smoke"), choice=Choice(reason="there is no NVIDIA GPU here"))
        result = judge(replace(now, sessions=()), ("smoke",))
        assert (result.exit, result.verdict) == (4, "fail")
        assert {c.verdict for c in result.suites[0].checks} == {"skip"}

    def test_the_machine_comes_before_the_image(self) -> None:
        now = changed(seen(), "compile", rc=2, err="error")
        now = replace(now, choice=Choice(reason="there is no NVIDIA GPU here"))
        assert judge(now, ("toolchain", "smoke")).exit == 4
        assert judge(now, ("toolchain",)).exit == 6

    def test_a_suite_below_the_required_one_need_not_pass(self) -> None:
        now = replace(seen(), ceiling=None)
        result = judge(now, ("smoke",))
        assert (result.suites[0].verdict, result.exit) == ("inconclusive", 0)

    def test_and_yet_nothing_in_it_may_have_failed(self) -> None:
        """What is seen to be wrong, a cut libcudart or a baked libnvidia-ml, is not certified."""
        for name, mutate, _ in FAILS[:19]:
            assert name.startswith("toolchain.")
            assert judge(mutate(seen()), ("smoke",)).exit == 6  # type: ignore[no-untyped-call]

    def test_too_little_memory_is_the_machines(self) -> None:
        now = smoke(seen(), ('"available":150000000000', '"available":104857600'))
        assert judge(now, ("smoke",)).exit == 4

    @pytest.mark.parametrize(
        "gpu",
        [
            Gpu(uuid="GPU-2", cc="9.0"),
            Gpu(uuid="GPU-1", cc="6.1"),
            Gpu(cc="8.6"),
            Gpu(uuid="MIG-1", cc="8.6"),
        ],
    )
    def test_another_gpu_than_the_chosen_one_proves_nothing(self, gpu: Gpu) -> None:
        now = replace(seen(), choice=replace(seen().choice, gpu=gpu))
        result = judge(now, ("smoke",))
        assert result.exit == 4
        assert "came in" in check(result, "smoke.sums").reason

    def test_a_gpu_that_the_image_does_not_promise_proves_nothing(self) -> None:
        now = runtime(seen())
        now = replace(now, terms=replace(now.terms, promise=("86",)))
        assert verdict(now, "smoke.sums") == ("fail", "machine")

    @pytest.mark.parametrize("gpu", [Gpu(cc="9.0"), Gpu(uuid="MIG-1", cc="9.0"), Gpu()])
    def test_a_gpu_without_a_uuid_is_known_by_its_cc(self, gpu: Gpu) -> None:
        now = replace(seen(), choice=replace(seen().choice, gpu=gpu))
        assert judge(now, ("smoke",)).exit == 0

    def test_no_container_came_up(self) -> None:
        now = seen()
        work = replace(now.sessions[2], rc=125, says="error: no such device", steps=())
        now = replace(now, sessions=(*now.sessions[:2], work))
        assert verdict(now, "smoke.sums") == ("fail", "machine")
        assert "no such device" in check(judge(now, ("smoke",)), "smoke.sums").reason


class TestBlame:
    RIGHT = changed(seen(), "reference", rc=0, out="\n".join(samples.SMOKE_LINES))

    def test_wrong_sums_that_the_reference_does_not_show_are_the_images(self) -> None:
        now = smoke(self.RIGHT, ('"wrong":0,', '"wrong":7,'))
        assert verdict(now, "smoke.sums") == ("fail", "image")
        assert judge(now, ("smoke",)).exit == 6

    def test_code_that_does_not_load_where_the_reference_does_is_the_images(self) -> None:
        now = smoke(self.RIGHT, *_failed("launched", "module_load", 209))
        assert verdict(now, "smoke.code") == ("fail", "image")

    def test_a_hang_that_the_reference_does_not_show_is_the_images(self) -> None:
        now = changed(self.RIGHT, "smoke", rc=-1, signal=9, timed_out=True, ms=60000)
        assert verdict(now, "smoke.sums") == ("fail", "image")
        assert verdict(without(now, "reference"), "smoke.sums") == ("inconclusive", "machine")

    def test_forward_compat_on_a_card_without_it_is_the_images(self) -> None:
        now = smoke(
            seen(),
            *_failed("device", "init", 804),
            ("/usr/lib/libcuda.so.580.159.04", "/usr/local/cuda/compat/libcuda.so.580"),
        )
        assert verdict(now, "smoke.calls") == ("fail", "image")

    @pytest.mark.parametrize("code", [34, 100])
    def test_a_stub_in_the_image_is_not_the_machines_fault(self, code: int) -> None:
        path = "/usr/local/cuda/lib64/stubs/libcuda.so"
        now = smoke(
            changed(
                seen(), "loads", out=f"{samples.LOADS}\n{samples.load_line('libcuda.so', path)}"
            ),
            *_failed("device", "init", code),
            ("/usr/lib/libcuda.so.580.159.04", path),
        )
        assert {verdict(now, f"smoke.{c}")[1] for c in ("driver", "code", "calls", "sums")} == {
            "image"
        }
        assert judge(now, ("smoke",)).exit == 6

    @pytest.mark.parametrize("line", ["no-device", "failed"])
    def test_an_image_that_hides_the_gpu_is_at_fault(self, line: str) -> None:
        lines = list(samples.SMOKE_LINES[:2])
        lines += [f'{{"event":"{line}","call":"device_count","code":100,"count":0}}']
        now = changed(seen(), "smoke", out="\n".join(lines))
        assert verdict(now, "smoke.sums") == ("fail", "machine")
        env = Pairs({"CUDA_VISIBLE_DEVICES": ""})
        now = replace(now, image=replace(now.image, env=env))
        assert verdict(now, "smoke.sums") == ("fail", "image")
        assert "CUDA_VISIBLE_DEVICES" in check(judge(now, ("smoke",)), "smoke.sums").reason

    def test_a_baked_driver_that_answers_is_the_images(self) -> None:
        path = "/usr/lib/libcuda.so.580.159.04"
        now = changed(
            seen(),
            "loads",
            out=samples.LOADS.replace(
                samples.missing_line("libcuda.so.1"),
                samples.load_line("libcuda.so.1", path),
            ),
        )
        assert verdict(now, "smoke.driver") == ("fail", "image")


LIES = [
    *(
        "\n".join(samples.SMOKE_LINES).replace(old, new)
        for old, new in (
            ('"event":"memory"', '"event":"memo"'),
            ('"calls":35', '"calls":0'),
            (f'"end","nonce":"{samples.NONCE}"', '"end","nonce":"0"'),
            ('"cuda":13000,"code":0', '"cuda":13000,"code":999'),
            ('"cuda":13000,"code":0', '"cuda":13000,"code":0,"error":"no"'),
            (f'"changed","compared":{samples.COUNT}', '"changed","compared":1'),
            (f'"skipped","compared":{samples.COUNT}', '"skipped","compared":1'),
            ("/usr/lib/libcuda.so.580.159.04", ""),
        )
    ),
    "",
    "not json at all",
    '{"event":"start"',
    '{"event":"sums","wrong":"none"}',
    "\n".join(samples.SMOKE_LINES).replace(samples.NONCE, "0" * 16),
    "\n".join(samples.SMOKE_LINES).replace(f'"count":{samples.COUNT}', '"count":3'),
    "\n".join(samples.SMOKE_LINES).replace(
        '"compared":16777219,"wrong":0', '"compared":5,"wrong":0'
    ),
    "\n".join(samples.SMOKE_LINES[:-1]),
    "\n".join((*samples.SMOKE_LINES[:7], *samples.SMOKE_LINES[-1:])),
    "\n".join((*samples.SMOKE_LINES, samples.SMOKE_LINES[6])),
]


@pytest.mark.parametrize("text", LIES)
def test_garbage_and_lies_are_never_a_pass(text: str) -> None:
    result = judge(changed(seen(), "smoke", out=text), ("smoke",))
    assert result.exit in {4, 8, 9}
    assert result.verdict != "pass"


def test_noise_of_an_image_does_no_harm() -> None:
    text = "Welcome!\n" + "\n".join(samples.SMOKE_LINES)
    assert judge(changed(seen(), "smoke", out=text), ("smoke",)).exit == 0


def test_nothing_run_is_exit_9() -> None:
    assert judge(replace(seen(), asked=()), ("smoke",)).exit == 9
    assert judge(seen("toolchain"), ("smoke",)).exit == 9
    assert judge(replace(seen("toolchain"), sessions=(), codes=()), ("toolchain",)).exit in {8, 9}


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
