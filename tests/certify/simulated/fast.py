"""`probe fast` as it prints: figures of a device, sample by sample, with noise."""

from collections.abc import Callable

from envbuild.certify.card import card_of
from envbuild.certify.stats import spread
from envbuild.values.host import Gpu
from tests.certify.simulated.machine import Answer, Call, Program
from tests.certify.simulated.runner import fails, open_device
from tests.certify.simulated.speech import Speech

LOOKS, FEW, PAIRS = (21, 31, 41, 51, 61), 7, 21
_MIB = 1 << 20
# What kinds of access reach, by what reading does; and the multiply-adds, by their limit: one H200.
_KINDS = {"read": 1.0, "write": 1.0, "copy": 0.9, "triad": 0.934}
_FMA = {"f32": 0.981, "f64": 1.0}
_STEPS = 32
# Of the L2 cache, in bytes an SM and clock; a dependent chase, by reading; a busy host, in us.
_L2, _CHASE, _SPUN = 40.0, 0.02, 10.0


class Bench:
    """One part: its lines, and how long things take on this device."""

    def __init__(self, call: Call) -> None:
        self.call, self.device, self.trouble = call, call.device, call.trouble
        self.said = Speech()
        self.mhz = self.device.mhz * self.trouble.clock
        self.random = call.random

    def health(self, when: str) -> None:
        """What NVML says; a Jetson has none."""
        if self.device.platform == "jetson":
            self.said.say("health", when=when, error="NVML does not answer")
            return
        top = self.device.max_mhz or self.device.clock_khz // 1000
        mhz = self.mhz if when != "before" else top * 0.2
        self.said.say("health", when=when, sm_mhz=int(mhz), sm_max_mhz=top,
                      memory_mhz=self.device.memory_khz // 1000,
                      memory_max_mhz=self.device.memory_khz // 1000, celsius=61,
                      reasons=(1 if when == "before" else self.device.reasons)
                      | self.trouble.reasons, milliwatts=180000, busy=self.trouble.busy,
                      used=620 * _MIB)  # fmt: skip

    def noisy(self, value: float, share: float = 1.0) -> float:
        """A time as it is measured: now and then longer, hardly ever shorter."""
        off = self.random.gauss(0, self.trouble.noise * share)
        slow = 0.5 if self.random.random() < self.trouble.spikes else 0.0
        # No noise makes a time negative.
        return value * max(0.05, 1 + off + slow * self.random.random())

    def samples(self, name: str, work: float, us: float, *, blocks: int = 0, few: bool = False,
                device: bool = True) -> None:  # fmt: skip
        """Samples of one figure that takes so long; as many as the runner would take."""
        times: list[float] = []
        for most in (FEW,) if few else LOOKS:
            times += [self.noisy(us) for _ in range(most - len(times))]
            found = spread(times)
            if found.high - found.low < 0.01 * found.median:
                break
            if len(times) == FEW // 2:
                self.health(name)
        self.health(name)
        fields: dict[str, object] = {"name": name, "work": round(work, 3)}
        if device:
            fields |= {"rounds": 100, "blocks": blocks, "sms": self.device.sms}
        fields["us"] = [round(t, 3) for t in times]
        if device:
            fields["ns"] = [round(t * 1e3) for t in times]
            # Cycles pass with the clock: what is slow for its sake is not slow in cycles.
            fields["cycles"] = [round(self.noisy(t * self.mhz, 0.1)) for t in times]
        self.said.say("samples", **fields)

    def data(self, name: str, compared: int, wrong: int = 0) -> None:
        """A comparison; results in trouble are wrong, controls that are green find nothing."""
        wrong = 3 if name in self.trouble.wrong + self.trouble.nan else wrong
        wrong = 0 if name in self.trouble.green else wrong
        self.said.say("data", name=name, compared=compared, wrong=wrong)

    def pairs(self, name: str, us: float, share: float) -> None:
        """Times of ours and the image's, in fours: the image's are longer by 1 / share."""
        ours = [self.noisy(2 * us) for _ in range(PAIRS)]
        image = [self.noisy(2 * us / share) for _ in range(PAIRS)]
        series = {"ours_us": ours, "image_us": image}
        series |= {"ours_cycles": [t * self.mhz for t in ours]}
        series |= {"image_cycles": [t * self.mhz for t in image]}
        self.said.say(
            "pairs", name=name, **{k: [round(t, 3) for t in v] for k, v in series.items()}
        )

    def green(self, name: str) -> bool:
        """This control is not to be seen."""
        return name in self.trouble.green


def _fma_rate(bench: Bench, dtype: str) -> float:
    """FLOP an SM and clock that a device really has, a row or no row."""
    card = card_of(Gpu(name=bench.device.name, cc=bench.device.cc))
    row = card.rate("fma", dtype)
    limit = row.per_sm_clock if row else {"f32": 256, "f64": 4}[dtype]
    return limit * _FMA[dtype] * bench.trouble.fma


def _compute(bench: Bench) -> None:
    sms = bench.device.sms
    bench.said.say("quiet", busy=bench.trouble.busy)
    for dtype in ("f32", "f64"):
        name = f"fma.{dtype}"
        rate = _fma_rate(bench, dtype) * sms
        rounds = max(int(5e-3 * bench.mhz * 1e6 * rate / (2 * 8 * _STEPS * 1024 * sms)), 1)
        work = 2.0 * 8 * _STEPS * 1024 * sms * rounds
        us = work / rate / bench.mhz
        bench.samples(name, work, us, blocks=sms)
        bench.data(name, sms * 1024)
        bench.data(f"{name}.more", sms * 1024, sms * 1024)
        slower = 1.0 if bench.green(f"{name}.half") else 2.0
        bench.samples(f"{name}.half", work, us * slower, blocks=sms // 2, few=True)
        bench.data(f"{name}.half", sms // 2 * 1024)
        if dtype == "f32":
            cycles, ns = 10_000_000, 1e10 / bench.mhz
            pause = 0.0 if bench.green("spins") else 3 * ns
            bench.said.say("spins", spun_cycles=cycles, spun_ns=int(ns), both_cycles=2 * cycles,
                           both_ns=int(2 * ns + pause))  # fmt: skip


def _throughput(bench: Bench, name: str, rate: float, sms: int) -> None:
    """A figure in cycles, its control on half the SMs, and that of a step too few."""
    us = 5000.0
    work = float(round(rate * sms * bench.mhz * us))
    bench.samples(name, work, us, blocks=sms)
    bench.data(name, sms * 512)
    bench.data(f"{name}.more", sms * 512, sms * 512)
    slower = 1.0 if bench.green(f"{name}.half") else 2.0
    bench.samples(f"{name}.half", work, us * slower, blocks=sms // 2, few=True)
    bench.data(f"{name}.half", sms // 2 * 512)


def _tensor_rate(bench: Bench, dtype: str) -> float:
    """Operations an SM and clock of the tensor cores; 0 = the device has none for this type."""
    card = card_of(Gpu(name=bench.device.name, cc=bench.device.cc))
    row = card.rate("tensor", dtype, "" if dtype in {"s8", "f64"} else "f32")
    if card.tensor_cores is False or float(bench.device.cc) < 7:
        return 0.0
    if row is None:
        # No row: where the type exists all the same, some rate.
        return 512.0 if bench.device.cc == "8.7" and dtype in {"f16", "bf16"} else 0.0
    return row.per_sm_clock / 2 if row.half else float(row.per_sm_clock)


def _tensor(bench: Bench) -> None:
    for dtype in ("f16", "bf16", "tf32", "s8", "f64", "f8"):
        if rate := _tensor_rate(bench, dtype):
            share = bench.device.tensor_of.get(dtype, bench.device.tensor)
            rate *= share * bench.trouble.tensor
            _throughput(bench, f"tensor.{dtype}", rate, bench.device.sms)


def _cublas(bench: Bench) -> None:
    trouble, device, said = bench.trouble, bench.device, bench.said
    if "cublas" in trouble.silent:
        said.say("library", path="")
        return
    said.say("library", path="/usr/local/cuda/lib64/libcublas.so.12")
    said.say("version", version=120800)
    for dtype in ("bf16", "f16", "tf32", "f32", "f64", "f8"):
        if dtype == "f8" and float(device.cc) < 8.9:
            continue
        name = f"cublas.{dtype}"
        rate = max(_tensor_rate(bench, dtype), _fma_rate(bench, dtype) if dtype[1:] in {"32", "64"}
                   and dtype[0] == "f" else 0.0)  # fmt: skip
        if dtype == "bf16" and float(device.cc) < 7:
            said.say("refused", name=name, code=15)
            continue
        rate = (rate or 20.0) * 0.9 * trouble.library
        side, us = 4096, 5000.0
        work = float(round(rate * device.sms * bench.mhz * us))
        bench.samples(name, work, us, blocks=side)
        bench.data(name, 3 * side)
        if dtype == "tf32":
            bench.data(f"{name}.narrow", 3 * side, 12000)
        bench.data(f"{name}.perturbed", 3 * side, 3)
        slower = 1.0 if bench.green(f"{name}.twice") else 2.0
        bench.samples(f"{name}.twice", work, us * slower, blocks=side, few=True)
        if dtype != "f64":
            bench.samples(f"{name}.pedantic", work, us * 4, blocks=side, few=True)


def _memory(bench: Bench) -> None:
    device, sms = bench.device, bench.device.sms
    size = min(device.bytes // 16, 64 * device.l2_bytes, int(device.bytes * 0.97) // 12)
    size -= size % (256 * 8 * 16)
    parts = size // 16 // 8
    bench.said.say("room", available=int(device.bytes * 0.97), total=device.bytes, bytes=size)
    gbs = device.read_gbs * bench.trouble.dram
    order = {"write": 1, "triad": 3, "copy": 2, "read": 1}
    for kind, arrays in order.items():
        name, work = f"dram.{kind}", float(arrays * size)
        bench.samples(name, work, work / (gbs * _KINDS[kind]) / 1e3, blocks=size // 16 // 256)
        bench.data(name, parts)
        spoiled = {"write": ".other", "read": ".changed"}.get(kind, ".halved")
        found = {"write": parts, "read": 1}.get(kind, parts // 2)
        bench.data(f"{name}{spoiled}", parts, found)
    chase = gbs if bench.green("dram.chase") else gbs * _CHASE
    bench.samples("dram.chase", sms * 32 * 32 * 1e3, sms * 32 * 32 / chase, blocks=sms, few=True)
    bench.data("dram.chase", sms * 32)
    near = 1 << (device.l2_bytes // 4).bit_length() - 1
    far = 1 << size.bit_length() - 1
    cached = _L2 * sms * bench.mhz / 1e3 * bench.trouble.l2
    _reread(bench, "l2.read", cached)
    bench.data("l2.read", sms * 8 * 256)
    bench.said.say("cache", near_bytes=near, far_bytes=far)
    _reread(bench, "l2.read.far", cached if bench.green("l2.read.far") else gbs * 0.9, few=True)
    footprint = 1 << 18
    while footprint <= far:
        inside = footprint <= device.l2_bytes
        _reread(bench, f"l2.sweep.{footprint}", cached if inside else gbs * 0.9, few=True)
        footprint *= 2


def _reread(bench: Bench, name: str, gbs: float, *, few: bool = False) -> None:
    blocks = 8 * bench.device.sms
    work = gbs * 5e6
    bench.samples(name, work, 5000.0, blocks=blocks, few=few)


def _copies(bench: Bench) -> None:
    device, trouble = bench.device, bench.trouble
    tried = 1024
    got = min(device.pinned_mib, tried)
    bench.said.say("pinned", bytes=got * _MIB, tried=tried * _MIB, refused=2 if got < tried else 0,
                   after=2 if "pinned" in trouble.wrong else 0)  # fmt: skip
    gbs = device.gbs * trouble.copies
    size = 64.0 * _MIB
    for kind, share in (("pinned", 1.0), ("plain", 0.45)):
        for way in ("to", "from"):
            us = size / (gbs * share) / 1e3
            bench.samples(f"copy.{way}.{kind}", size, us)
        bench.data(f"copy.to.{kind}", int(size))
        if kind == "pinned":
            slow = 1.0 if bench.green("copy.to.small") else 0.02
            bench.samples("copy.to.small", size, size / (gbs * slow) / 1e3, few=True)
    bench.data("copy.changed", int(size), 1)


def _latency(bench: Bench) -> None:
    device, slow = bench.device, bench.trouble.launch

    def times(name: str, us: float, each: float) -> None:
        spread = [bench.noisy(us, 10) for _ in range(31)]
        bench.said.say("samples", name=name, work=each, us=[round(t, 3) for t in spread])

    times("launch.waited", device.launch_us * slow, 1)
    times("launch.row", device.row_us * slow, 100)
    spun = device.row_us * slow + (0 if bench.green("launch.spun") else _SPUN)
    times("launch.spun", spun, 100)
    bench.said.say("graph", nodes=99 if "graph" in bench.trouble.wrong else 100)
    node = device.node_us * slow * (4 if "graph.node" in bench.trouble.wrong else 1)
    times("graph.node", node, 100)
    times("graph.apart", node if bench.green("graph.apart") else device.row_us * slow, 100)


def _codegen(bench: Bench) -> None:
    for kind in ("fma", "triad"):
        name = f"codegen.{kind}"
        bench.pairs(name, 5000.0, bench.trouble.compiled)
        bench.data(name, 1024)
        bench.pairs(f"{name}.half", 5000.0, 1.0 if bench.green(f"{name}.half") else 0.5)


_PARTS: dict[str, Callable[[Bench], None]] = {
    "compute": _compute,
    "memory": _memory,
    "copies": _copies,
    "latency": _latency,
    "tensor": _tensor,
    "cublas": _cublas,
    "codegen": _codegen,
}


def _fast(call: Call) -> Answer:
    bench = Bench(call)
    part, nonce = call.argv[2], call.after("--nonce")
    bench.said.say("start", nonce=nonce, part=part)
    if not open_device(call, bench.said):
        return Answer(bench.said.text)
    device = call.device
    bench.said.say("attributes", clock_khz=device.clock_khz, memory_khz=device.memory_khz,
                   bus_bits=device.bus_bits, l2_bytes=device.l2_bytes,
                   integrated=int(device.integrated), ecc=device.ecc)  # fmt: skip
    bench.health("before")
    bad = int(fails(call, bench.said, "room"))
    if not bad:
        _PARTS[part](bench)
    bench.health("after")
    bench.said.say("end", nonce=nonce, calls=900, bad=bad)
    return Answer(bench.said.text)


PROGRAMS: dict[str, Program] = {"probe fast": _fast}
