"""Suite `smoke`, on the GPU: the image's own code is loaded, run and right; who is who.

Core: driver, code, calls, sums. The image's compiled code runs first, then the prebuilt code as a
reference on the same buffers: a fault that both show is the machine's, one that only the image's
code shows is the image's. Controls of the same run: a planted libcuda, a module for another cc, a
launch that no device takes, one changed element, a launch that is left out.
"""

from typing import NamedTuple

from envbuild.certify import facts
from envbuild.certify.seen import Event, Seen, events
from envbuild.certify.suites.common import NO_GLIBC, last_line, runtime_library
from envbuild.certify.verdicts import settle
from envbuild.errors import InputError
from envbuild.values.certificate import Blame, Check, Control, Verdict
from envbuild.values.codec import Pairs, replace

# What a driver answers to code for another device. 209 no binary for this GPU, 200 invalid image,
# 218 invalid PTX, 300 invalid source: cuda.h of 11.7 to 13.5; 209 was measured.
WRONG_CC = frozenset({200, 209, 218, 300})
# Too many threads a block. 1 invalid value (the driver's answer, measured on 580), 9 invalid
# configuration, 701 out of resources.
BAD_LAUNCH = frozenset({1, 9, 701})
# Faults of the machine's driver, whatever the image holds; 803 and 804 are looked at apart.
_MISMATCH = frozenset({803, 804})


class Run(NamedTuple):
    """The smoke probe's answer, read: events by kind, or why there is no answer to judge."""

    found: tuple[Event, ...] = ()
    verdict: Verdict = "pass"
    reason: str = ""
    blame: Blame | None = None

    def one(self, kind: str, code: str = "") -> Event | None:
        """The first event of a kind, of one module where ``code`` is given."""
        return next(
            (e for e in self.found if e.event == kind and (not code or e.code == code)), None
        )

    def failed(self, code: str = "") -> Event | None:
        """The first failing call; of one module: between its first event and the next module's."""
        current = ""
        for e in self.found:
            if e.event == "module":
                current = str(e.code)
            if e.event == "failed" and current == code:
                return e
        return None


def judge(seen: Seen) -> tuple[Check, ...]:
    """All checks of the suite."""
    if seen.choice.reason:
        return tuple(_skipped(check, seen.choice.reason) for check in _CHECKS)
    run = read(seen)
    if run.verdict != "pass":
        return tuple(
            replace(check, verdict=run.verdict, reason=run.reason, blame=run.blame)
            for check in _CHECKS
        )
    return (_driver(seen, run), _code(seen, run), _calls(seen, run), _sums(seen, run))


_DRIVER, _CODE, _CALLS, _SUMS = _CHECKS = (
    Check(
        id="smoke.driver",
        core=True,
        verdict="pass",
        says="driver, toolkit and framework runtime told apart; the driver is the machine's",
        rule="the libcuda that answers is not one that the image resolves without a GPU",
    ),
    Check(
        id="smoke.code",
        core=True,
        verdict="pass",
        says="code for this device is in the image's own output and loads",
        rule="the module loads with compilation at load time switched off",
    ),
    Check(
        id="smoke.calls",
        core=True,
        verdict="pass",
        says="every call to the driver answered success",
        rule="no call fails, from cuInit to the last release",
    ),
    Check(
        id="smoke.sums",
        core=True,
        verdict="pass",
        says="the add kernel is right in every element",
        unit="wrong elements",
        limit="0",
        formula="count(c[i] != a[i] + b[i]), a and b integers below 2^20",
        rule="all elements are compared, none differs",
    ),
)


def _skipped(check: Check, reason: str) -> Check:
    return replace(check, verdict="skip", reason=reason, blame="machine")


def read(seen: Seen) -> Run:
    """The probe's lines, once they are known to be whole and of this run."""
    ran = seen.step("smoke")
    if ran is None:
        last = next((s for s in seen.sessions if s.name == "work"), None)
        says = last_line(last.says) if last else "the run ended before it"
        return Run((), "fail", f"no container with a GPU came up: {says}", "machine")
    if ran.timed_out:
        return Run((), "inconclusive", f"it did not end within {ran.ms // 1000} s", "machine")
    if ran.rc == 127:
        return Run((), "skip", NO_GLIBC, "image")
    try:
        found = events(ran.out)
    except InputError as e:
        return Run((), "inconclusive", e.what, "suite")
    start = next((e for e in found if e.event == "start"), None)
    if start is None or start.nonce != seen.nonce or start.count != seen.count:
        return Run((), "inconclusive", "the answer is not the probe's of this run", "suite")
    if ran.signal or ran.rc:
        how = f"signal {ran.signal}" if ran.signal else f"exit code {ran.rc}"
        return Run((), "inconclusive", f"the probe ended with {how}", "machine")
    memory = next((e for e in found if e.event == "memory"), None)
    if memory and memory.need * 4 > memory.available:
        reason = (
            f"{memory.need >> 20} MiB are more than a quarter of the "
            f"{memory.available >> 20} MiB that are free on the GPU"
        )
        return Run((), "skip", reason, "machine")
    return Run(found)


def codes(seen: Seen) -> tuple[str, str | None]:
    """(the module that is judged, its reference): the image's own code, if it made some."""
    ran = seen.step("smoke")
    own = ran is not None and seen.code("image") is not None
    return ("image", "prebuilt") if own else ("prebuilt", None)


def _driver(seen: Seen, run: Run) -> Check:
    e = run.one("driver")
    if e is None:
        return replace(_DRIVER, verdict="inconclusive", reason="no answer", blame="suite")
    python = facts.packages(seen.step("packages"))
    pair = facts.pair(seen.step("pair"))
    loaded = facts.loads(seen.step("loads")) or {}
    library = runtime_library(seen)
    cudart = loaded[library].version if library else 0
    framework = f"torch {python.torch} with CUDA {python.torch_cuda}" if python.torch else "none"
    toolkit = f"nvcc {pair.cuda}" if pair else ""
    check = replace(
        _DRIVER,
        value=f"driver CUDA {facts.version(e.cuda)}" if e.cuda else "",
        inputs=Pairs(
            {
                "libcuda": e.path,
                "driver": seen.driver or e.module or "unknown",
                "driver CUDA": facts.version(e.cuda) if e.cuda else "unknown",
                "toolkit": toolkit or "none",
                "cudart": facts.version(cudart) if cudart else "none",
                "framework": framework,
                "forward compatibility": "yes" if "/compat/" in e.path else "no",
            }
        ),
    )
    controls: tuple[Control, ...] = ()
    planted = seen.step("driver-planted")
    if planted is not None and planted.ok:
        try:
            other = next((x for x in events(planted.out) if x.event == "driver"), None)
        except InputError:
            other = None
        path = other.path if other else ""
        red = f"{seen.probes_at}/planted/" in path and path != e.path
        says = f"seen at {path}" if path else "not seen"
        controls = (Control(name="planted libcuda", red=red, says=says),)
    baked = facts.baked(seen)
    if baked and (e.path in baked or not e.path):
        reason = f"libcuda comes from the image: {', '.join(baked)}"
        return settle(replace(check, verdict="fail", reason=reason, blame="image"), *controls)
    if e.error or e.code or not e.cuda:
        reason = " ".join(filter(None, (e.error, e.missing))) or f"cuDriverGetVersion: {e.code}"
        return settle(replace(check, verdict="fail", reason=reason, blame="machine"), *controls)
    return settle(check, *controls)


def _early(run: Run) -> tuple[str, Blame] | None:
    """A failure before any module: (reason, blame)."""
    e = run.failed()
    if e is None:
        device = run.one("no-device")
        if device:
            return f"the device is not there ({device.count} visible)", "machine"
        driver = run.one("driver")
        if driver is None or run.one("device") is None:
            return "the driver did not come up", "machine"
        return None
    compat = (driver := run.one("driver")) is not None and "/compat/" in driver.path
    blame: Blame = "image" if e.code in _MISMATCH and compat else "machine"
    return f"{e.call} answers {_answer(e)}", blame


def _answer(e: Event) -> str:
    return f"{e.code} {e.says}".strip()


def _code(seen: Seen, run: Run) -> Check:
    name, reference = codes(seen)
    other = run.one("other")
    device = run.one("device")
    check = replace(
        _CODE,
        value=f"{name} code on cc {device.major}.{device.minor}" if device else "",
        inputs=Pairs(
            {"code": name, "targets": ",".join(c.targets if (c := seen.code(name)) else ())}
        ),
    )
    controls: tuple[Control, ...] = ()
    if other:
        red = other.answer in WRONG_CC
        says = f"code for cc {other.cc}.x answers {other.answer}"
        controls = (Control(name="wrong cc", red=red, says=says),)
    if early := _early(run):
        return replace(check, verdict="fail", reason=early[0], blame=early[1])
    if run.one("sums", name) or run.one("launched", name):
        return settle(check, *controls)
    e = run.failed(name)
    reason = f"{e.call} answers {_answer(e)}" if e else "the module was not tried"
    blame: Blame = "machine"
    if e and reference and run.one("sums", reference):
        blame = "image"
        reason += "; the reference code loads and runs"
    elif not e:
        return replace(check, verdict="inconclusive", reason=reason, blame="suite")
    return settle(replace(check, verdict="fail", reason=reason, blame=blame), *controls)


def _calls(seen: Seen, run: Run) -> Check:
    name, reference = codes(seen)
    end = run.one("end")
    bad = run.one("bad-launch", name)
    check = replace(_CALLS, value=f"{end.calls} calls" if end else "")
    controls: tuple[Control, ...] = ()
    if bad:
        says = f"a launch with 4096 threads a block answers {bad.answer}"
        controls = (Control(name="bad launch", red=bad.answer in BAD_LAUNCH, says=says),)
    if early := _early(run):
        return replace(check, verdict="fail", reason=early[0], blame=early[1])
    e = run.failed(name) or (run.failed(reference) if reference else None)
    if e:
        only_image = reference and run.failed(reference) is None and run.one("sums", reference)
        blame: Blame = "image" if only_image else "machine"
        reason = f"{e.call} answers {_answer(e)}"
        return settle(replace(check, verdict="fail", reason=reason, blame=blame), *controls)
    if end is None or end.nonce != seen.nonce or end.bad:
        return replace(
            check, verdict="inconclusive", reason="it did not come through", blame="machine"
        )
    return settle(check, *controls)


def _sums(seen: Seen, run: Run) -> Check:
    name, reference = codes(seen)
    sums = run.one("sums", name)
    check = replace(_SUMS, inputs=Pairs({"elements": str(seen.count), "code": name}))
    if early := _early(run):
        return replace(check, verdict="fail", reason=early[0], blame=early[1])
    if sums is None:
        reason = "the kernel gave no result to compare"
        other = reference and run.one("sums", reference)
        blame: Blame = "image" if other else "machine"
        return replace(check, verdict="fail", reason=reason, blame=blame)
    check = replace(check, value=str(sums.wrong))
    controls = []
    if changed := run.one("changed", name):
        red = changed.wrong == sums.wrong + 1
        says = f"{changed.wrong} wrong after one was changed"
        controls.append(Control(name="changed element", red=red, says=says))
    if skipped := run.one("skipped", name):
        red = skipped.wrong == seen.count
        says = f"{skipped.wrong} of {skipped.compared} wrong without a launch"
        controls.append(Control(name="skipped launch", red=red, says=says))
    if sums.compared != seen.count:
        reason = f"{sums.compared} of {seen.count} elements were compared"
        return replace(check, verdict="inconclusive", reason=reason, blame="suite")
    if sums.wrong:
        right = reference and (r := run.one("sums", reference)) and r.wrong == 0
        reason = f"{sums.wrong} of {seen.count} sums are wrong, the first at {sums.first}"
        blame = "image" if right else "machine"
        return settle(replace(check, verdict="fail", reason=reason, blame=blame), *controls)
    if len(controls) < 2:
        return replace(check, verdict="inconclusive", reason="a control did not run", blame="suite")
    return settle(check, *controls)
