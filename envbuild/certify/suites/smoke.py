"""Suite `smoke`, on the GPU: the image's own code is loaded, run and right; who is who.

Core: driver, code, calls, sums. The code is what the image's compiler made, else the prebuilt one.
Where the image's code does not come through, the prebuilt code runs as a reference in a process of
its own: if that is right, the fault is the image's, else the machine's. Controls of the same run:
a planted libcuda, a module for another cc, a launch that no device takes, one changed element, a
launch that is left out.
"""

from typing import NamedTuple

from envbuild.certify import facts
from envbuild.certify.arithmetic import terms
from envbuild.certify.seen import Event, Seen, events
from envbuild.certify.suites.common import NO_GLIBC, last_line, runtime_library
from envbuild.certify.terms import covers
from envbuild.certify.verdicts import ruled, settle
from envbuild.errors import InputError
from envbuild.values.certificate import Blame, Check, Control, Verdict
from envbuild.values.codec import Pairs, replace
from envbuild.values.host import Gpu

# What a driver answers to code for another device. 209 no binary for this GPU, 200 invalid image,
# 218 invalid PTX, 300 invalid source: cuda.h of 11.7 to 13.5.
WRONG_CC = frozenset({200, 209, 218, 300})
# Too many threads a block: 1 invalid value, 9 invalid configuration, 701 out of resources.
BAD_LAUNCH = frozenset({1, 9, 701})
# System driver mismatch, forward compatibility on a GPU that has none of it.
_MISMATCH = frozenset({803, 804})
_NO_DEVICE = 100


class Run(NamedTuple):
    """The probe's answer, read: its events, or why there is nothing to judge."""

    found: tuple[Event, ...] = ()
    verdict: Verdict = "pass"
    reason: str = ""
    blame: Blame | None = None

    def one(self, kind: str) -> Event | None:
        """The first event of a kind."""
        return next((e for e in self.found if e.event == kind), None)

    @property
    def right(self) -> bool:
        """It came to its end, no call failed, every sum is right."""
        sums, end = self.one("sums"), self.one("end")
        return (
            self.verdict == "pass"
            and self.one("failed") is None
            and (sums is not None and sums.wrong == 0)
            and (end is not None and not end.bad)
        )


def judge(seen: Seen) -> tuple[Check, ...]:
    """All checks of the suite."""
    if seen.choice.reason:
        return tuple(ruled(check, "skip", seen.choice.reason, "machine") for check in _CHECKS)
    run = read(seen, "smoke")
    if run.verdict != "pass":
        owner = run.blame
        if run.verdict == "inconclusive" and read(seen, "reference").right:
            # The prebuilt code came through on this GPU: what hung or died is the image's code.
            run, owner = run._replace(verdict="fail"), "image"
        return tuple(ruled(check, run.verdict, run.reason, owner) for check in _CHECKS)
    return (_driver(seen, run), _code(seen, run), _calls(seen, run), _sums(seen, run))


def came_through(seen: Seen) -> bool:
    """The code that is judged gave nothing to find a culprit for."""
    return read(seen, "smoke").right


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
        says="machine code for this device is in what the image's compiler made, and loads",
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


def read(seen: Seen, step: str) -> Run:
    """The probe's lines, once they are known to be whole and of this run."""
    ran = seen.step(step)
    if ran is None:
        session = next((s for s in seen.sessions if s.name == "work"), None)
        says = last_line(session.says) if session else "the run ended before it"
        return Run((), "fail", f"no container with a GPU came up: {says}", "machine")
    if ran.timed_out:
        return Run((), "inconclusive", f"it did not end within {ran.ms // 1000} s", "machine")
    if ran.rc == 127:
        return Run((), "skip", NO_GLIBC, "image")
    try:
        found = tuple(e for e in events(ran.out) if not asked_for(e))
    except InputError as e:
        return Run((), "inconclusive", e.what, "suite")
    start = next((e for e in found if e.event == "start"), None)
    if start is None or start.nonce != seen.nonce or start.count != seen.count:
        return Run((), "inconclusive", "the answer is not the probe's of this run", "suite")
    if ran.signal or ran.rc:
        how = f"signal {ran.signal}" if ran.signal else f"exit code {ran.rc}"
        return Run((), "inconclusive", f"the probe ended with {how}", "machine")
    device = next((e for e in found if e.event == "device"), None)
    if device and (stranger := _stranger(seen, device)):
        return Run((), "fail", stranger, "machine")
    kinds = [e.event for e in found]
    if len(set(kinds)) != len(kinds):
        return Run((), "inconclusive", "the probe's answer names a result twice", "suite")
    memory = next((e for e in found if e.event == "memory"), None)
    if memory is None and "sums" in kinds:
        return Run((), "inconclusive", "the probe took memory without asking for room", "suite")
    if memory and memory.need * 4 > memory.available:
        reason = (
            f"{memory.need >> 20} MiB are more than a quarter of the "
            f"{memory.available >> 20} MiB that are free on the GPU"
        )
        return Run((), "skip", reason, "machine")
    return Run(found)


def asked_for(e: Event) -> bool:
    """The failure of the launch that must fail; what it answered has an event of its own."""
    return e.event == "failed" and e.call == "bad-launch" and e.code in BAD_LAUNCH


def _stranger(seen: Seen, device: Event) -> str:
    """Why the device that came in is not the chosen one, or proves nothing; empty where it is."""
    gpu, cc = seen.choice.gpu or Gpu(), f"{device.major}.{device.minor}"
    named = gpu.uuid if gpu.uuid and gpu.uuid.startswith("GPU-") else None
    if named not in {None, device.uuid} or gpu.cc not in {None, cc}:
        return f"{gpu.uuid or 'a GPU'} of cc {gpu.cc} was chosen, {device.uuid} of cc {cc} came in"
    if covers(seen.terms.promise, cc) is None:
        return f"the image promises sm_{', sm_'.join(seen.terms.promise)}, cc {cc} came in"
    return ""


def code_name(seen: Seen) -> str:
    """Whose code is judged: ``image`` where its compiler made some, else ``prebuilt``."""
    return "image" if seen.code("image") else "prebuilt"


def _owner(seen: Seen) -> Blame:
    """Who owns a fault of the code that is judged."""
    return "image" if read(seen, "reference").right else "machine"


def _driver(seen: Seen, run: Run) -> Check:
    e = run.one("driver")
    if e is None:
        return ruled(_DRIVER, "inconclusive", "the probe names no driver", "suite")
    check = replace(
        _DRIVER,
        value=f"driver CUDA {facts.version(e.cuda)}" if e.cuda else "",
        inputs=_runtimes(seen, e),
    )
    controls = _planted(seen, e)
    if _own_driver(seen, run):
        reason = f"libcuda comes from the image: {', '.join(facts.baked(seen))}"
        return settle(ruled(check, "fail", reason, "image"), *controls)
    if e.error or e.code or not e.cuda:
        reason = " ".join(filter(None, (e.error, e.missing))) or f"cuDriverGetVersion: {e.code}"
        return settle(ruled(check, "fail", reason, "machine"), *controls)
    if not e.path:
        return ruled(check, "inconclusive", "the driver's file has no path", "suite")
    return settle(check, *controls)


def _runtimes(seen: Seen, driver: Event) -> Pairs:
    python = facts.packages(seen.step("packages"))
    toolkit = facts.toolkit(seen)
    loaded = facts.loads(seen.step("loads")) or {}
    library = runtime_library(seen)
    cudart = loaded[library].version if library else 0
    return Pairs(
        {
            "libcuda": driver.path,
            "driver": seen.driver or driver.module or "unknown",
            "driver CUDA": facts.version(driver.cuda) if driver.cuda else "unknown",
            "toolkit": f"{facts.compiler(seen)} {toolkit}" if toolkit else "none",
            "cudart": facts.version(cudart) if cudart else "none",
            "framework": f"torch {python.torch}, CUDA {python.torch_cuda}"
            if python.torch
            else "none",
            "forward compatibility": "yes" if "/compat/" in driver.path else "no",
        }
    )


def _planted(seen: Seen, driver: Event) -> tuple[Control, ...]:
    ran = seen.step("driver-planted")
    if ran is None or not ran.ok:
        return ()
    try:
        other = next((e for e in events(ran.out) if e.event == "driver"), None)
    except InputError:
        other = None
    path = other.path if other else ""
    red = f"{seen.probes_at}/planted/" in path and path != driver.path
    says = f"seen at {path}" if path else "not seen"
    return (Control(name="planted libcuda", red=red, says=says),)


def _own_driver(seen: Seen, run: Run) -> bool:
    """The libcuda that answers, or fails to, is one of the image."""
    driver, baked = run.one("driver"), facts.baked(seen)
    return bool(baked) and driver is not None and (driver.path in baked or not driver.path)


def _early(seen: Seen, run: Run) -> tuple[str, Blame] | None:
    """A failure before the code was tried: (reason, blame)."""
    e, driver = run.one("failed"), run.one("driver")
    own: Blame = "image" if _own_driver(seen, run) else "machine"
    hidden = seen.image.env.get("CUDA_VISIBLE_DEVICES")
    if hidden is not None and (run.one("no-device") or (e and e.code == _NO_DEVICE)):
        return f"the image's CUDA_VISIBLE_DEVICES={hidden[:40]} hides the GPU", "image"
    if e is None or run.one("memory"):
        if device := run.one("no-device"):
            return f"the device is not there ({device.count} visible)", own
        return None if run.one("device") else ("the driver did not come up", own)
    compat = driver is not None and "/compat/" in driver.path
    return _failure(e), "image" if e.code in _MISMATCH and compat else own


def _failure(e: Event) -> str:
    return f"{e.call} answers {e.code} {e.says}".strip()


def _code(seen: Seen, run: Run) -> Check:
    name = code_name(seen)
    device, other, e = run.one("device"), run.one("other"), run.one("failed")
    code = seen.code(name)
    cc = f"{device.major}.{device.minor}" if device else ""
    inputs = {"code": name, "targets": ",".join(code.targets if code else ())}
    check = replace(
        _CODE,
        value=f"{name} code on cc {cc}" if device else "",
        inputs=Pairs(inputs | ({"device": cc} if device else {})),
    )
    if early := _early(seen, run):
        return ruled(check, "fail", *early)
    controls: tuple[Control, ...] = ()
    if other:
        says = f"code for cc {other.cc}.x answers {other.answer}"
        controls = (Control(name="wrong cc", red=other.answer in WRONG_CC, says=says),)
    if e and e.call in {"module_load", "module_function"}:
        return settle(ruled(check, "fail", _failure(e), _owner(seen)), *controls)
    if not run.one("launched") and not e:
        return ruled(check, "inconclusive", "the code was not tried", "suite")
    return settle(check, *controls)


def _calls(seen: Seen, run: Run) -> Check:
    end, bad, e = run.one("end"), run.one("bad-launch"), run.one("failed")
    check = replace(_CALLS, value=f"{end.calls} calls" if end else "")
    if early := _early(seen, run):
        return ruled(check, "fail", *early)
    controls: tuple[Control, ...] = ()
    if bad:
        says = f"a launch with 4096 threads a block answers {bad.answer}"
        controls = (Control(name="bad launch", red=bad.answer in BAD_LAUNCH, says=says),)
    if e:
        return settle(ruled(check, "fail", _failure(e), _owner(seen)), *controls)
    if end is None or end.nonce != seen.nonce or end.bad or end.calls < 1:
        return ruled(check, "inconclusive", "the probe did not come to its end", "machine")
    return settle(check, *controls)


def _sums(seen: Seen, run: Run) -> Check:
    sums, changed, skipped = run.one("sums"), run.one("changed"), run.one("skipped")
    check = replace(_SUMS, inputs=Pairs({"elements": str(seen.count), "code": code_name(seen)}))
    if early := _early(seen, run):
        return ruled(check, "fail", *early)
    if sums is None:
        return ruled(check, "fail", "the kernel gave no result to compare", _owner(seen))
    numbers = {"wrong": sums.wrong, "compared": sums.compared, "elements": seen.count}
    check = replace(
        check,
        value=str(sums.wrong),
        expression="0",
        bounds=("wrong == limit", "compared == elements"),
        terms=terms(numbers),
    )
    if sums.compared != seen.count:
        reason = f"{sums.compared} of {seen.count} elements were compared"
        return ruled(check, "inconclusive", reason, "suite")
    controls = []
    if changed:
        says = f"{changed.wrong} wrong after one was changed"
        red = changed.wrong == sums.wrong + 1 and changed.compared == seen.count
        controls.append(Control(name="changed element", red=red, says=says))
    if skipped:
        says = f"{skipped.wrong} of {skipped.compared} wrong without a launch"
        red = skipped.wrong == skipped.compared == seen.count
        controls.append(Control(name="skipped launch", red=red, says=says))
    if sums.wrong:
        reason = f"{sums.wrong} of {seen.count} sums are wrong, the first at {sums.first}"
        # That the comparison can fail needs no further proof here.
        return ruled(check, "fail", reason, _owner(seen))
    if len(controls) < 2:
        return ruled(check, "inconclusive", "a control did not run", "suite")
    return settle(check, *controls)
