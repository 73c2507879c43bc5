"""`kernels/runner` as it prints: loads, driver, smoke, correct, fault."""

from envbuild.certify.probes import DRIVER_LIBRARIES
from envbuild.certify.sessions import RUNTIMES
from envbuild.certify.suites.correct.formats import COLUMNS, ROWS
from tests.certify.simulated.compilers import libraries, number
from tests.certify.simulated.devices import UUID
from tests.certify.simulated.machine import Answer, Call, Program
from tests.certify.simulated.speech import Speech

RESULTS = ROWS * COLUMNS


def _loads(call: Call) -> Answer:
    said = Speech()
    first = call.env.get("+LD_LIBRARY_PATH", "")
    have = libraries(call.inside)
    for name in call.argv[2:]:
        path, version = have.get(name, ("", 0))
        error, signal = f"{name}: cannot open shared object file: No such file or directory", 0
        if first.endswith("/planted") and name in DRIVER_LIBRARIES:
            path = f"{first}/{name}"
        elif first.endswith("/cut") and path:
            path, version, error, signal = "", 0, "loading it ended the process", 7
        said.say("load", name=name, path=path, error="" if path else error, signal=signal,
                 version=version)  # fmt: skip
    return Answer(said.text)


def _cut(call: Call) -> Answer:
    name, folder = call.argv[2:]
    if name not in libraries(call.inside):
        why = f"{name}: cannot open shared object file: No such file or directory"
        return Answer("", f"{name} does not resolve: {why}\n", 1)
    said = Speech()
    said.say("cut", path=f"{folder}/{name}", bytes=352144)
    return Answer(said.text)


def _driver(call: Call) -> Answer:
    said = Speech()
    first = call.env.get("+LD_LIBRARY_PATH", "")
    if first:
        said.say("driver", path=f"{first}/libcuda.so.1", module=_module(call),
                 error="a function is missing", missing="cuLaunchKernel")  # fmt: skip
    else:
        open_driver(call, said)
    return Answer(said.text)


def _module(call: Call) -> str:
    return "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build"


def open_driver(call: Call, said: Speech) -> None:
    """The line of the driver that came in."""
    said.say("driver", path="/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05",
             module=_module(call), cuda=13000, code=0)  # fmt: skip


def fails(call: Call, said: Speech, before: str) -> bool:
    """Whether a call fails before this event; its line is said."""
    for step, event, name, code, word in call.trouble.answers:
        if (step, event) == (call.step, before):
            said.say("failed", call=name, says=word, code=code)
            return True
    return False


def open_device(call: Call, said: Speech) -> bool:
    """Driver and device; False = it ends here."""
    open_driver(call, said)
    if fails(call, said, "device"):
        return False
    if "--uuid" in call.argv and call.after("--uuid") != UUID:
        said.say("no-device", count=1)
        return False
    major, minor = call.device.cc.split(".")
    said.say("device", name=call.device.name, uuid=UUID, bus="0000:01:00.0", major=int(major),
             minor=int(minor), sms=call.device.sms, bytes=call.device.bytes, count=1)  # fmt: skip
    return not fails(call, said, "memory")


def _smoke(call: Call) -> Answer:
    said = Speech()
    nonce, count = call.after("--nonce"), int(call.after("--count"))
    said.say("start", nonce=nonce, count=count)
    if not open_device(call, said):
        return Answer(said.text)
    trouble, reference = call.trouble, call.step == "reference"
    whole = ("wrong cc", "bad launch", "changed element", "skipped launch")
    green = {name for name in whole if name in trouble.green}
    major = call.device.cc.partition(".")[0]
    other = next(c for f, c in zip(call.argv, call.argv[1:], strict=False)
                 if f == "--other" and c != major)  # fmt: skip
    said.say("other", cc=other, answer=0 if "wrong cc" in green else 209)
    said.say("memory", available=int(call.device.bytes * 0.97), total=call.device.bytes,
             need=3 * 4 * count)  # fmt: skip
    bad = 0
    if fails(call, said, "launched"):
        bad = 1
    else:
        said.say("launched", ms=0.081)
        sick = "sums" in trouble.wrong + trouble.nan and (trouble.reference or not reference)
        wrong = 1 if sick else 0
        said.say("sums", compared=count, wrong=wrong, first=count // 3 if wrong else 0)
        changed = wrong + ("changed element" not in green)
        said.say("changed", compared=count, wrong=changed, first=count // 2)
        skipped = 0 if "skipped launch" in green else count
        said.say("skipped", compared=count, wrong=skipped, first=0)
        taken = "bad launch" in green
        if not taken:
            said.say("failed", call="bad-launch", says="CUDA_ERROR_INVALID_VALUE", code=1)
        said.say("bad-launch", answer=0 if taken else 1)
    said.say("end", nonce=nonce, calls=35, bad=bad)
    return Answer(said.text)


def _correct(call: Call) -> Answer:
    said = Speech()
    nonce = call.after("--nonce")
    said.say("start", nonce=nonce)
    if not open_device(call, said):
        return Answer(said.text)
    sick = call.step != "correct.reference" or call.trouble.reference
    bad = 0
    words = iter(call.argv)
    for word in words:
        if word == "--number":
            name, _, _, rounding, _ = (next(words) for _ in range(5))
            said.say("trying", name=name)
            if sick and fails(call, said, name):
                bad = 1
                break
            _number(call, said, name, sick=sick, rounds=rounding != "0")
        elif word == "--atomics":
            _atomics(call, said, sick=sick)
        elif word == "--launches":
            _launches(call, said, sick=sick)
    said.say("end", nonce=nonce, calls=400, bad=bad)
    return Answer(said.text)


def _differs(said: Speech, kind: str, name: str, which: str, wrong: int, unreal: int = 0,
             expected: int = 0, worst: float = 0.0, compared: int = RESULTS) -> None:  # fmt: skip
    said.say(kind, name=name, which=which, compared=compared, wrong=wrong, unreal=unreal,
             first=7 if wrong else -1, expected=expected, worst=worst, error=1e-7)  # fmt: skip


def _number(call: Call, said: Speech, name: str, *, sick: bool, rounds: bool) -> None:
    trouble = call.trouble
    wrong = 5 if sick and name in trouble.wrong else 0
    unreal = 3 if sick and name in trouble.nan else 0
    _differs(said, "number", name, "integers", wrong + unreal, unreal)
    for which, count, expected in (
        ("planted", 3, 3),
        ("zeros", 32398, 0),
        ("stride", 32489, 0),
        ("operand", 103, 103),
    ):
        found = 0 if which in trouble.green else count
        _differs(said, "control", name, which, found, expected=expected)
    _differs(said, "number", name, "reals", wrong + unreal, unreal, worst=0.056)
    if rounds:
        narrow = 0 if "narrow" in trouble.green else 31000
        _differs(said, "control", name, "narrow", narrow, worst=4000.0)


def _atomics(call: Call, said: Speech, *, sick: bool) -> None:
    for way in ("global i32", "global f32", "shared i32", "shared f32"):
        wrong = 2 if sick and "atomics" in call.trouble.wrong else 0
        _differs(said, "atomics", "atomics", way, wrong, compared=257)
    plain = 0 if "plain additions" in call.trouble.green else 257
    _differs(said, "control", "atomics", "plain", plain, compared=257)


def _launches(call: Call, said: Speech, *, sick: bool) -> None:
    right = 0 if sick and "good launch" in call.trouble.wrong else 1
    said.say("launch", which="good", answer=0, right=right)
    for which in ("4096 threads a block", "no thread", "no block", "1 GiB of shared memory"):
        taken = sick and which in call.trouble.wrong
        said.say("launch", which=which, answer=0 if taken else 1)
    said.say("launch", which="good", answer=0, right=right)


def _fault(call: Call) -> Answer:
    said = Speech()
    nonce = call.after("--nonce")
    said.say("start", nonce=nonce)
    if open_device(call, said):
        said.say("launch", which="good", answer=0, right=1)
        silent = "address 0" in call.trouble.wrong
        said.say("launch", which="address 0", answer=0 if silent else 700)
        said.say("end", nonce=nonce, calls=16, bad=0)
    return Answer(said.text)


PROGRAMS: dict[str, Program] = {
    "probe loads": _loads,
    "probe cut": _cut,
    "probe driver": _driver,
    "probe smoke": _smoke,
    "probe correct": _correct,
    "probe fault": _fault,
}

__all__ = ["PROGRAMS", "RUNTIMES", "fails", "number", "open_device", "open_driver"]
