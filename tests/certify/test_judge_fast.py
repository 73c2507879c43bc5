"""Verdicts of the suite `fast` from answers that are made: each check green, red, open and void."""

import json

import pytest

from envbuild.values.codec import replace
from envbuild.values.host import Gpu, Mig
from tests.certify import samples
from tests.certify.fast_checks import (
    CORE,
    HEALTHY,
    OWN,
    SIDE,
    checks,
    edited,
    exit_code,
    lines_without,
    verdicts,
)
from tests.certify.fast_samples import Device, seen
from tests.certify.samples import changed, without


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
