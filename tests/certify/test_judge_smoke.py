"""The judge on what the suite `smoke` saw: drivers, devices, answers, and whose fault it is."""

import pytest

from envbuild.certify.judge import judge
from envbuild.certify.seen import Choice
from envbuild.values.codec import Pairs, replace
from envbuild.values.host import Gpu
from tests.certify import samples
from tests.certify.judged import check, failed, verdict
from tests.certify.samples import changed, runtime, seen, smoke, without


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
        now = smoke(self.RIGHT, *failed("launched", "module_load", 209))
        assert verdict(now, "smoke.code") == ("fail", "image")

    def test_a_hang_that_the_reference_does_not_show_is_the_images(self) -> None:
        now = changed(self.RIGHT, "smoke", rc=-1, signal=9, timed_out=True, ms=60000)
        assert verdict(now, "smoke.sums") == ("fail", "image")
        assert verdict(without(now, "reference"), "smoke.sums") == ("inconclusive", "machine")

    def test_forward_compat_on_a_card_without_it_is_the_images(self) -> None:
        now = smoke(
            seen(),
            *failed("device", "init", 804),
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
            *failed("device", "init", code),
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
