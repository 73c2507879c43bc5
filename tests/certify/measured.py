"""A certificate with figures, made for reports: values of the notes on one H200, rounded.

Nothing here is a recording; intervals and points are laid around those values.
"""

from envbuild.values.certificate import (
    Certificate,
    Check,
    Control,
    Device,
    Measure,
    Point,
    Runtimes,
    Subject,
    SuiteResult,
)
from envbuild.values.codec import Pairs, replace
from envbuild.values.plan import MatrixId

CONTROL = Control(name="half of the SMs", red=True, says="reads 0.50 of it")


def figure(
    unit: str,
    value: float,
    limit: float | None,
    floor: float | None,
    shown: str,
    **further: object,
) -> Measure:
    """A figure whose interval is 0.2 % wide to either side."""
    made = Measure(
        unit=unit,
        value=value,
        low=value * 0.998,
        high=value * 1.002,
        n=21,
        smallest=value * 0.99,
        q1=value * 0.997,
        q3=value * 1.003,
        largest=value * 1.01,
        limit=limit,
        floor=floor,
        shown=shown,
        mhz=1965.0,
        celsius=41,
    )
    return replace(made, **further)


def check(name: str, measure: Measure | None, *, core: bool = True) -> Check:
    return Check(
        id=f"fast.{name}",
        core=core,
        verdict="pass",
        says=f"{name} reaches what this device can",
        value=f"{measure.value:.4g}" if measure else "",
        unit=measure.unit if measure else "",
        limit=f"{measure.limit:.4g}" if measure and measure.limit else "unknown",
        formula="rate / limit",
        inputs=Pairs({"SMs": "132", "L2 bytes": "62914560"}),
        rule="the 95 % interval of the median lies above the floor",
        controls=(CONTROL,),
        measure=measure,
    )


_SIZES = ((1 << k, 8200.0 if k < 26 else 4675.0) for k in range(18, 33))
SWEEP = tuple(
    Point(name="read", value=v, low=v * 0.99, high=v * 1.01, size=size) for size, v in _SIZES
)
COPIES = (
    Point(name="to the device, page-locked", value=55.4, low=55.3, high=55.5),
    Point(name="from the device, plain", value=11.0, low=10.0, high=12.0),
)
FMA = figure("FLOP/SM/clock", 251.1, 256.0, 0.97, "65.2 TFLOP/s f32", dtype="f32")
BF16 = figure(
    "FLOP/SM/clock", 3650.0, 4096.0, 0.85, "947 TFLOP/s bf16", dtype="bf16", intensity=2731.0
)
TRIAD = figure("GB/s", 4402.0, 4814.0, 0.90, "4402 GB/s triad", dtype="int32", intensity=1 / 6)
READ = figure("GB/s", 4675.0, 4814.0, 0.96, "4675 GB/s read")
L2 = figure("GB/s", 8200.0, None, None, "8200 GB/s L2 read", points=SWEEP)
COPY = figure("GB/s", 55.4, None, None, "55.4 GB/s to pinned", points=COPIES)
LAUNCH = figure("us", 3.5, None, None, "3.5 us a launch")
CHECKS = (
    check("fma-f32", FMA),
    check("cublas-bf16", replace(BF16, owner="image"), core=False),
    check("dram-read", READ),
    check("dram-triad", TRIAD),
    check("l2-read", L2, core=False),
    check("copies", COPY, core=False),
    check("launch", LAUNCH, core=False),
)
CERTIFICATE = Certificate(
    verdict="pass",
    exit=0,
    subject=Subject(kind="config", name="made/image:1", digest="sha256:" + "a" * 64),
    cc=("9.0",),
    device=Device(name="NVIDIA H200", uuid="GPU-1", cc="9.0", memory_mib=143771, sms=132),
    runtimes=Runtimes(driver="580.159.04", driver_cuda="13.0", toolkit="13.0.88"),
    engine="docker",
    engine_version="28.5.2",
    access="cdi",
    suites=(SuiteResult(name="fast", required=True, verdict="pass", checks=CHECKS, seconds=21.5),),
    not_run=("tools", "multi"),
    probes=Pairs({"fma.cu": "1" * 64}),
    started="2026-12-02T07:00:00Z",
    finished="2026-12-02T07:00:22Z",
    tool="envbuild 0",
    matrix=MatrixId(date="2026-12-01", digest="sha256:0"),
)


def having(*checks: Check, verdict: str = "pass", code: int = 0) -> Certificate:
    """The certificate with these checks in its suite."""
    suite = replace(CERTIFICATE.suites[0], checks=checks, verdict=verdict)
    return replace(CERTIFICATE, suites=(suite,), verdict=verdict, exit=code)
