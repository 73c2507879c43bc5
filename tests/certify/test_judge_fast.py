"""Verdicts of the suite `fast` from answers that are made: each check green, red, open and void."""

import json
from collections.abc import Callable

import pytest

from envbuild.certify import verdicts as rules
from envbuild.certify.judge import judge
from envbuild.certify.seen import Ran, Seen
from envbuild.values.certificate import Check
from envbuild.values.codec import replace
from envbuild.values.host import Gpu, Mig
from tests.certify import samples
from tests.certify.fast_samples import Device, seen
from tests.certify.judged import check as one
from tests.certify.samples import changed, without

HEALTHY = Device()
CORE = {"clock", "fma-f32", "fma-f64", "dram-read", "dram-triad"}
SIDE = {"dram-write", "dram-copy", "l2-read", "copies", "launch", "graph"}
OWN = {"codegen-fma", "codegen-triad"}


def checks(now: Seen) -> dict[str, Check]:
    result = judge(now, ("fast",))
    suite = next(s for s in result.suites if s.name == "fast")
    found = {c.id.removeprefix("fast."): c for c in suite.checks}
    return {name: c for name, c in found.items() if name in CORE | SIDE | OWN}


def exit_code(now: Seen) -> int:
    """Of these checks alone; those of the image's libraries have tests of their own."""
    return rules.exit_code(tuple(checks(now).values()))


def verdicts(now: Seen) -> dict[str, str]:
    return {name: c.verdict for name, c in checks(now).items()}


def edited(now: Seen, part: str, *edits: tuple[str, str]) -> Seen:
    """The same with texts of one part's answer replaced (all must be there)."""
    return samples.smoke(now, *edits, step=f"fast.{part}")


def lines_without(now: Seen, part: str, word: str) -> Seen:
    ran = now.step(f"fast.{part}")
    assert ran is not None
    kept = [line for line in ran.out.splitlines() if f'"{word}"' not in line]
    assert len(kept) < len(ran.out.splitlines()), word
    return changed(now, f"fast.{part}", out="\n".join(kept))


def test_a_healthy_device_passes_with_every_control_red() -> None:
    found = checks(seen())
    assert {name: c.verdict for name, c in found.items()} == dict.fromkeys(found, "pass")
    assert {name for name, c in found.items() if c.core} == CORE
    assert all(c.controls and all(k.red for k in c.controls) for c in found.values())
    assert exit_code(seen()) == 0


def test_figures_carry_what_people_read() -> None:
    found = checks(seen())
    f32 = found["fma-f32"].measure
    assert f32 is not None
    assert f32.shown == "65.9 TFLOP/s f32"
    assert (f32.mhz, f32.celsius, f32.limit, f32.dtype) == (1980.0, 40, 256, "f32")
    triad = found["dram-triad"]
    assert triad.measure is not None
    assert triad.measure.limit == pytest.approx(4814.3, abs=0.1)
    assert triad.inputs.get("bus bits") == "6016"
    assert triad.measure.intensity == pytest.approx(1 / 6)
    l2 = found["l2-read"].measure
    assert l2 is not None
    assert [p.size for p in l2.points] == [262144, 2147483648]
    copies = found["copies"]
    assert (
        copies.inputs.get("page-locked (pinned) memory")
        == "at least 1024 MiB (no more than 1024 asked)"
    )
    assert copies.measure is not None
    assert len(copies.measure.points) == 4
    owners = {c.measure.owner for c in found.values() if c.measure and "codegen" in c.id}
    assert owners == {"image"}


class TestMachine:
    """What no image can change is never the image's."""

    @pytest.mark.parametrize(
        ("device", "failing"),
        [
            (HEALTHY._replace(fma=0.5), {"fma-f32", "fma-f64"}),
            (HEALTHY._replace(dram=0.5), {"dram-read", "dram-write", "dram-copy", "dram-triad"}),
            (HEALTHY._replace(l2=1.0), {"l2-read"}),
            (HEALTHY._replace(reasons=0x40), {"clock"}),
            (HEALTHY._replace(reasons=0x8), {"clock"}),
            (HEALTHY._replace(reasons=0x84), {"clock"}),
        ],
    )
    def test_a_sick_one_fails(self, device: Device, failing: set[str]) -> None:
        found = checks(seen(device))
        assert {name for name, c in found.items() if c.verdict == "fail"} == failing
        assert {found[name].blame for name in failing} == {"machine"}
        assert exit_code(seen(device)) == 4

    @pytest.mark.parametrize(
        ("device", "open_ones"),
        [
            (HEALTHY._replace(mhz=1150.0), {"clock"}),
            (HEALTHY._replace(busy=90), {"clock"}),
            (HEALTHY._replace(max_mhz=None, clock_khz=0), {"clock"}),
            (HEALTHY._replace(mhz=2300.0), {"clock"}),
        ],
    )
    def test_an_odd_one_stays_open(self, device: Device, open_ones: set[str]) -> None:
        now = seen(device)
        assert {n for n, v in verdicts(now).items() if v == "inconclusive"} == open_ones
        assert exit_code(now) == 8

    @pytest.mark.parametrize(
        "device", [HEALTHY._replace(mhz=300.0), HEALTHY._replace(mhz=300.0, reasons=4)]
    )
    def test_one_that_crawls_stays_open_whatever_the_reason(self, device: Device) -> None:
        found = checks(seen(device))["clock"]
        assert (found.verdict, found.blame) == ("inconclusive", "machine")
        assert "0.15 of the highest clock" in found.reason

    def test_a_rate_that_no_row_has_is_unknown(self) -> None:
        now = replace(seen(), card=replace(seen().card, rates=seen().card.rates[1:]))
        found = checks(now)["fma-f32"]
        assert (found.verdict, found.limit) == ("inconclusive", "unknown")
        assert found.reason.startswith("limit unknown")
        assert exit_code(now) == 8

    @pytest.mark.parametrize(
        "device",
        [
            HEALTHY._replace(mhz=990.0, reasons=0x4),  # a power cap
            HEALTHY._replace(mhz=1100.0, reasons=0x2),  # application clocks
            HEALTHY._replace(mhz=1250.0),
            # A 2080 Ti ran at 1.18 of its attribute; NVML's maximum is above that.
            HEALTHY._replace(mhz=1825.0, clock_khz=1545000, max_mhz=2100),
            HEALTHY._replace(mhz=1825.0, clock_khz=1545000, max_mhz=None),
        ],
    )
    def test_a_clock_with_a_good_reason_passes(self, device: Device) -> None:
        assert verdicts(seen(device))["clock"] == "pass"

    def test_noise_leaves_it_open(self) -> None:
        noisy = verdicts(seen(HEALTHY._replace(noise=0.2)))
        assert noisy["dram-read"] == "inconclusive"
        assert "void" not in noisy.values()

    @pytest.mark.parametrize(("share", "name"), [(1.05, "dram-read"), (1.03, "dram-write")])
    def test_above_the_limit_is_no_measurement(self, share: float, name: str) -> None:
        now = seen(HEALTHY._replace(dram=share))
        assert verdicts(now)[name] == "void"
        assert exit_code(now) == 9
        assert verdicts(seen(HEALTHY._replace(fma=1.02)))["fma-f32"] == "void"

    def test_l2_above_its_port_is_no_measurement(self) -> None:
        assert verdicts(seen(HEALTHY._replace(l2=4.0)))["l2-read"] == "void"

    @pytest.mark.parametrize(
        "device",
        [
            HEALTHY._replace(integrated=1),
            HEALTHY._replace(memory_khz=0),
            HEALTHY._replace(gpu=Gpu(name="NVIDIA A100 MIG 1g.5gb", uuid="MIG-1", cc="9.0")),
            HEALTHY._replace(gpu=Gpu(uuid="GPU-1", cc="9.0", mig=Mig(enabled=True))),
        ],
    )
    def test_dram_without_a_limit_is_reported(self, device: Device) -> None:
        found = checks(seen(device))
        for kind in ("read", "write", "copy", "triad"):
            assert found[f"dram-{kind}"].verdict == "inconclusive"
            assert found[f"dram-{kind}"].reason.startswith("limit unknown")
            assert found[f"dram-{kind}"].measure is not None
        assert found["fma-f32"].verdict == "pass"

    def test_arrays_that_fit_into_the_cache_say_nothing(self) -> None:
        found = checks(seen(HEALTHY._replace(room=256 << 20)))
        assert found["dram-read"].verdict == "inconclusive"
        assert "fit into the cache" in found["dram-read"].reason

    def test_a_part_that_was_not_measured_is_asked_for_less(self) -> None:
        cloud = Device(cc="8.0", bus_bits=5120, memory_khz=1215000, f32=128, f64=64, dram=0.8)
        assert verdicts(seen(cloud))["dram-triad"] == "pass"
        assert verdicts(seen(HEALTHY._replace(dram=0.8)))["dram-triad"] == "fail"


class TestControls:
    """A control that stays green voids its check, and so does one that did not run."""

    @pytest.mark.parametrize(
        ("part", "check", "edit"),
        [
            ("memory", "dram-read", ('"dram.read.changed", "compared": 1048576, "wrong": 1', "0")),
            (
                "memory",
                "dram-triad",
                ('"dram.triad.halved", "compared": 1048576, "wrong": 524288', "0"),
            ),
            (
                "memory",
                "dram-copy",
                ('"dram.copy.halved", "compared": 1048576, "wrong": 524288', "0"),
            ),
            (
                "memory",
                "dram-write",
                ('"dram.write.other", "compared": 1048576, "wrong": 1048576', "0"),
            ),
            ("compute", "fma-f32", ('"fma.f32.more", "compared": 1048576, "wrong": 1048576', "0")),
            ("copies", "copies", ('"copy.changed", "compared": 1048576, "wrong": 1', "0")),
            ("compute", "clock", ('"both_ns": 25000000', '"both_ns": 10000000')),
        ],
    )
    def test_what_must_be_noticed_is_not(
        self, part: str, check: str, edit: tuple[str, str]
    ) -> None:
        old, new = edit
        if new == "0":
            new = old[: old.rindex(" ")] + " 0"
        found = checks(edited(seen(), part, (old, new)))[check]
        assert (found.verdict, found.blame) == ("void", "suite")
        assert "stayed green" in found.reason

    @pytest.mark.parametrize(
        ("check", "part", "words"),
        [
            ("fma-f32", "compute", ("fma.f32.half", "fma.f32.more")),
            ("clock", "compute", ("spins",)),
            ("dram-triad", "memory", ("dram.chase", "dram.triad.halved")),
            ("l2-read", "memory", ("l2.read.far",)),
            ("copies", "copies", ("copy.changed", "copy.to.small")),
            ("launch", "latency", ("launch.spun",)),
            ("graph", "latency", ("graph.apart",)),
            ("codegen-fma", "codegen", ("codegen.fma.half",)),
        ],
    )
    def test_none_that_ran_is_void(self, check: str, part: str, words: tuple[str, ...]) -> None:
        now = seen()
        for word in words:
            now = lines_without(now, part, word)
        assert verdicts(now)[check] == "void"

    def test_speed_that_does_not_depend_on_the_sms(self) -> None:
        # The same work on half of them, in the same time.
        made = Device(noise=0.0)
        ten, five = (f'"us": [{t}, ' for t in ("10000.0", "5000.0"))
        now = edited(
            seen(made), "compute", (ten, five), (f"{10000 * made.mhz}", f"{5000 * made.mhz}")
        )
        assert verdicts(now)["fma-f32"] == "void"


class TestData:
    """A result that is wrong or was not compared is never a figure."""

    @pytest.mark.parametrize(
        ("part", "name", "check", "blame"),
        [
            ("compute", "fma.f32", "fma-f32", "machine"),
            ("codegen", "codegen.fma", "codegen-fma", "image"),
            ("memory", "dram.triad", "dram-triad", "machine"),
            ("memory", "l2.read", "l2-read", "machine"),
            ("codegen", "codegen.triad", "codegen-triad", "image"),
            ("copies", "copy.to.pinned", "copies", "machine"),
        ],
    )
    def test_it_fails(self, part: str, name: str, check: str, blame: str) -> None:
        data = f'"data", "name": "{name}", "compared": 1048576, "wrong": 0'
        for bad in (data.replace('"wrong": 0', '"wrong": 5'), data.replace("1048576", "0")):
            found = checks(edited(seen(), part, (data, bad)))[check]
            assert (found.verdict, found.blame) == ("fail", blame)


class TestImage:
    """What the image's own compiler makes is paired with ours."""

    def test_slower_code_is_the_images(self) -> None:
        now = seen(HEALTHY._replace(code=0.9))
        found = checks(now)
        assert (found["codegen-fma"].verdict, found["codegen-fma"].blame) == ("fail", "image")
        assert found["fma-f32"].verdict == "pass"
        assert exit_code(now) == 6

    def test_a_slow_machine_slows_both(self) -> None:
        found = checks(seen(HEALTHY._replace(fma=0.5)))
        assert found["codegen-fma"].verdict == "pass"

    def test_an_interval_around_the_floor_is_open(self) -> None:
        found = checks(seen(HEALTHY._replace(code=0.97, noise=0.05)))["codegen-fma"]
        # Ours and the image's are as noisy as each other: the ratios are even all the same.
        assert found.verdict == "pass"
        now = seen()
        ran = now.step("fast.codegen")
        assert ran is not None
        line = next(e for e in ran.out.splitlines() if '"codegen.triad"' in e and "pairs" in e)
        mixed = json.loads(line)
        mixed["image_us"] = [us * (1.08 if i % 2 else 1.0) for i, us in enumerate(mixed["ours_us"])]
        now = changed(now, "fast.codegen", out=ran.out.replace(line, json.dumps(mixed)))
        found = checks(now)["codegen-triad"]
        assert (found.verdict, found.blame) == ("inconclusive", "image")

    def test_code_that_does_not_load_is_the_images_and_no_figure_of_the_machine(self) -> None:
        now = lines_without(seen(), "codegen", "codegen.fma")
        for word in ("codegen.fma.half", "codegen.triad", "codegen.triad.half"):
            now = lines_without(now, "codegen", word)
        failed = '{"event": "failed", "call": "module_load", "code": 209, "says": "NO_BINARY"}'
        ran = now.step("fast.codegen")
        assert ran is not None
        found = checks(changed(now, "fast.codegen", out=f"{ran.out}\n{failed}"))
        for name in OWN:
            assert (found[name].verdict, found[name].blame) == ("fail", "image")
            assert "209" in found[name].reason
        assert {found[name].verdict for name in CORE | SIDE} == {"pass"}

    def test_a_compiler_that_cannot(self) -> None:
        now = changed(seen(), "fast.compile", rc=1, err="error: expected a ;")
        for name in ("codegen-fma", "codegen-triad"):
            assert (checks(now)[name].verdict, checks(now)[name].blame) == ("fail", "image")
        now = changed(seen(), "fast.compile", rc=-1, timed_out=True, ms=120000)
        assert verdicts(now)["codegen-fma"] == "inconclusive"

    def test_an_image_without_a_compiler_is_not_asked(self) -> None:
        now = samples.runtime(without(seen(), "fast.compile"))
        found = checks(now)["codegen-fma"]
        assert (found.verdict, found.core, found.blame) == ("skip", False, "image")
        assert exit_code(now) == 0


class TestHost:
    """Copies and launches are reported; what is judged is that they do what they say."""

    def test_a_small_budget_of_page_locked_memory_is_reported(self) -> None:
        pinned = '"bytes": 1073741824, "tried": 1073741824, "refused": 0'
        less = '"bytes": 536870912, "tried": 1073741824, "refused": 2'
        found = checks(edited(seen(), "copies", (pinned, less)))["copies"]
        assert found.verdict == "pass"
        assert found.inputs.get("page-locked (pinned) memory") == "512 MiB (the driver answered 2)"

    def test_none_at_all_leaves_plain_copies(self) -> None:
        pinned = '"bytes": 1073741824, "tried": 1073741824, "refused": 0'
        now = edited(seen(), "copies", (pinned, '"bytes": 0, "tried": 1073741824, "refused": 2'))
        for name in ("copy.to.pinned", "copy.from.pinned", "copy.to.small"):
            now = lines_without(now, "copies", name)
        found = checks(now)["copies"]
        assert found.verdict == "pass"
        assert found.value == "9.0"

    def test_an_error_that_stays_behind(self) -> None:
        found = checks(edited(seen(), "copies", ('"after": 0', '"after": 2')))["copies"]
        assert (found.verdict, found.blame) == ("fail", "machine")

    @pytest.mark.parametrize(
        ("old", "new", "verdict"),
        [
            ('"nodes": 100', '"nodes": 0', "fail"),
            ('"graph.node"', '"graph.nope"', "inconclusive"),
        ],
    )
    def test_graphs(self, old: str, new: str, verdict: str) -> None:
        assert verdicts(edited(seen(), "latency", (old, new)))["graph"] == verdict

    def test_a_graph_that_saves_nothing(self) -> None:
        swapped = (('"graph.node"', '"graph.x"'), ('"graph.apart"', '"graph.node"'))
        now = edited(seen(), "latency", *swapped, ('"graph.x"', '"graph.apart"'))
        found = checks(now)["graph"]
        # The launches in its place are then cheap, too: the control is green.
        assert found.verdict == "void"
        now = lines_without(now, "latency", "graph.apart")
        assert verdicts(now)["graph"] == "fail"

    def test_a_driver_without_graphs(self) -> None:
        now = lines_without(seen(), "latency", "graph.node")
        ran = now.step("fast.latency")
        assert ran is not None
        failed = '{"event": "failed", "call": "capture_begin", "code": 500}'
        now = changed(now, "fast.latency", out=f"{ran.out}\n{failed}")
        found = checks(now)["graph"]
        assert (found.verdict, found.blame) == ("skip", "machine")
        assert exit_code(now) == 0


class TestAnswers:
    """Whatever a part prints is a verdict, and one part takes no other with it."""

    @pytest.mark.parametrize(
        ("fields", "verdict", "blame"),
        [
            ({"out": "", "rc": 0}, "inconclusive", "suite"),
            ({"out": "{not json", "rc": 0}, "inconclusive", "suite"),
            ({"out": "", "rc": -1, "signal": 11}, "inconclusive", "machine"),
            ({"out": "", "rc": -1, "timed_out": True, "ms": 25000}, "inconclusive", "machine"),
            ({"out": "", "rc": 127, "err": "probe: not found"}, "skip", "image"),
            ({"out": "", "rc": 0, "cut": True}, "inconclusive", "machine"),
        ],
    )
    def test_a_part_that_says_nothing(
        self, fields: dict[str, object], verdict: str, blame: str
    ) -> None:
        found = checks(changed(seen(), "fast.memory", **fields))
        assert (found["dram-read"].verdict, found["dram-read"].blame) == (verdict, blame)
        assert found["fma-f32"].verdict == "pass"

    @pytest.mark.parametrize(
        "edit",
        [
            lambda text: text.replace(samples.NONCE, "0" * 16),
            lambda text: f"{text}\n{text.splitlines()[-3]}",
            lambda text: text.replace('"uuid": "GPU-1"', '"uuid": "GPU-2"'),
            lambda text: "\n".join(text.splitlines()[:1]),
            lambda text: text.replace('"us": [', '"us": [0, '),
        ],
    )
    def test_a_lie_is_never_a_pass(self, edit: Callable[[str], str]) -> None:
        for part in ("compute", "memory"):
            ran = seen().step(f"fast.{part}")
            assert isinstance(ran, Ran)
            now = changed(seen(), f"fast.{part}", out=edit(ran.out))
            assert exit_code(now) in {4, 8, 9}

    def test_a_call_that_fails_is_named(self) -> None:
        now = lines_without(seen(), "memory", "dram.read")
        ran = now.step("fast.memory")
        assert ran is not None
        failed = '{"event": "failed", "call": "allocate", "code": 2, "says": "OUT_OF_MEMORY"}'
        found = checks(changed(now, "fast.memory", out=f"{ran.out}\n{failed}"))["dram-read"]
        assert (found.verdict, found.blame) == ("fail", "machine")
        assert "allocate answers 2 OUT_OF_MEMORY" in found.reason

    def test_no_gpu(self) -> None:
        now = seen()
        now = replace(now, choice=replace(now.choice, reason="there is no NVIDIA GPU here"))
        assert exit_code(now) == 4
        assert set(verdicts(replace(now, sessions=())).values()) == {"skip"}

    def test_smoke_comes_first(self) -> None:
        now = seen()
        now = replace(now, sessions=now.sessions[:3])
        found = judge(now, ("fast",))
        assert found.exit == 8
        assert "smoke" in one(found, "fast.clock").reason
