"""Two certificates of GPUs of one kind, check by check; pure.

A figure is compared in its suite's own unit (cycles for arithmetic, so that clocks do not matter).
The 95 % intervals of both give an interval of their ratio: wholly more than 2 % below 1 it is
slower, above faster, wholly within 2 % the same, and undecided else. (On one H200 figures in
cycles differ by 0.1 to 3 % from run to run, those of DRAM by less than 1 %.)
"""

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

from envbuild.certify.report.figures import less_is_better, number, one_line
from envbuild.certify.verdicts import EXIT
from envbuild.errors import InputError
from envbuild.values.certificate import Certificate, Check, Device, Measure

Kind = Literal["worse", "slower", "lost", "undecided", "changed", "same", "faster", "better", "new"]

_MARGIN = 0.02
# A clock follows the temperature of the room; that it is sound is the suite's to say.
_DRIFTS = "MHz"


class Change(NamedTuple):
    """One check then and now.

    Attributes:
        id: of the check.
        kind: ``lost`` = it was judged then and is not there now; ``changed`` = another verdict,
            neither of them pass.
        old, new: verdict or figure.
        says: what differs, for people; ``ratio`` is new / old, of figures.
        code: what it adds to the exit code; 0 = nothing.
    """

    id: str
    kind: Kind
    old: str
    new: str
    says: str = ""
    ratio: tuple[float, float] | None = None
    code: int = 0


class Comparison(NamedTuple):
    """All checks, what else differs between the two runs, and the exit code.

    Attributes:
        differs: image, driver, GPU and probes that are not the same, a line each.
        exit: that of the certificate where it is not 0. Else that of the worst core check of a
            required suite that fell behind: 6 where the image owns the figure, 4 where the
            machine does; 8 where such a check is lost or nothing could be compared; 0 = none.
    """

    changes: tuple[Change, ...]
    differs: tuple[str, ...]
    exit: int


def comparable(old: Certificate, device: Device | None) -> None:
    """Refuse figures of another kind of GPU.

    Raises:
        InputError: both ran on a GPU, and name, capability or number of SMs differ.
    """
    if old.device is None or device is None:
        return
    then, now = (_kind(old.device), _kind(device))
    if then != now:
        what = f"the older certificate is of another kind of GPU: {then}, this one is {now}"
        raise InputError(what, fix="compare with a certificate of the same kind of GPU")


def compare(old: Certificate, new: Certificate) -> Comparison:
    """What became of each check.

    Raises:
        InputError: the certificates are of different kinds of GPUs.
    """
    comparable(old, new.device)
    changes = tuple(_changes(old, new))
    codes = {change.code for change in changes}
    compared = [c for c in changes if c.kind not in {"lost", "new"}]
    worst = next((code for code in (9, 4, 6, 8) if code in codes), 0)
    return Comparison(
        changes=changes,
        differs=tuple(_differs(old, new)),
        exit=new.exit or worst or (0 if compared else 8),
    )


def lines(found: Comparison) -> Iterator[str]:
    """The comparison as people read it: what differs first, then how many stayed."""
    counts: dict[str, int] = {}
    for change in found.changes:
        counts[change.kind] = counts.get(change.kind, 0) + 1
    yield "compared  " + (", ".join(f"{n} {kind}" for kind, n in counts.items()) or "nothing")
    for text in found.differs:
        yield f"  {text}"
    for change in found.changes:
        if change.kind != "same":
            yield f"  {change.kind:<9} {one_line(change.id)}: {_told(change)}"


def _told(change: Change) -> str:
    text = f"{change.old} → {change.new}"
    if change.ratio:
        low, high = change.ratio
        text += f" ({low:.3f} to {high:.3f} of it)"
    return one_line(text + (f"; {change.says}" if change.says else ""))


def _changes(old: Certificate, new: Certificate) -> Iterator[Change]:
    then = {check.id: check for suite in old.suites for check in suite.checks}
    ran = {suite.name for suite in new.suites}
    for suite in new.suites:
        for check in suite.checks:
            before = then.pop(check.id, None)
            if before is None:
                yield Change(check.id, "new", "", _said(check))
                continue
            change = _change(before, check)
            decides = suite.required and check.core and change.code
            yield change if decides else change._replace(code=0)
    required = {suite.name for suite in new.suites if suite.required}
    for suite in old.suites:
        for check in suite.checks:
            if check.id in then and suite.name in ran:
                code = 8 if check.core and suite.name in required else 0
                yield Change(check.id, "lost", _said(check), "", code=code)


def _change(old: Check, new: Check) -> Change:
    said = _said(old), _said(new)
    if old.verdict != new.verdict:
        kind: Kind = "changed"
        if "pass" in {old.verdict, new.verdict}:
            kind = "better" if new.verdict == "pass" else "worse"
        return Change(new.id, kind, *said, says=new.reason)
    missing = [c.name for c in old.controls if c.name not in {c.name for c in new.controls}]
    says = f"without the control: {', '.join(missing)}" if missing else ""
    if old.measure is None or new.measure is None:
        return Change(new.id, "changed" if missing else "same", *said, says=says)
    if old.measure.unit != new.measure.unit:
        return Change(new.id, "undecided", *said, says=f"another unit; {says}".rstrip("; "))
    return _figures(new.id, old.measure, new.measure)._replace(old=said[0], new=said[1], says=says)


def _figures(name: str, old: Measure, new: Measure) -> Change:
    if min(old.low, old.high, new.low, new.high) <= 0:
        return Change(name, "undecided", "", "")
    low, high = new.low / old.high, new.high / old.low
    if low == 0 or high == math.inf:
        return Change(name, "undecided", "", "")  # further apart than a float can say
    # Speed as a ratio, whichever way the unit counts.
    least, most = (1 / high, 1 / low) if less_is_better(new) else (low, high)
    kind: Kind = "undecided"
    if most < 1 - _MARGIN:
        kind = "slower"
    elif least > 1 + _MARGIN:
        kind = "faster"
    elif least >= 1 - _MARGIN and most <= 1 + _MARGIN:
        kind = "same"
    code = EXIT[new.owner] if kind == "slower" and new.unit != _DRIFTS else 0
    return Change(name, kind, "", "", ratio=(low, high), code=code)


def _said(check: Check) -> str:
    text: str = check.verdict
    if check.measure:
        text += f", {number(check.measure.value)} {check.measure.unit}"
        text += f" ({check.measure.shown})" if check.measure.shown else ""
    return one_line(text)


def _kind(device: Device) -> str:
    return f"{device.name}, cc {device.cc}" + (f", {device.sms} SMs" if device.sms else "")


def _differs(old: Certificate, new: Certificate) -> Iterator[str]:
    for name, then, now in (
        ("image", old.subject.digest or old.subject.name, new.subject.digest or new.subject.name),
        ("GPU", old.device and old.device.uuid, new.device and new.device.uuid),
        ("driver", old.runtimes.driver, new.runtimes.driver),
        ("engine", old.engine, new.engine),
    ):
        if then != now:
            yield one_line(f"another {name}: {then or 'none'} → {now or 'none'}")
    probes = dict(old.probes)
    other = [path for path, digest in new.probes if path in probes and probes[path] != digest]
    if other:
        yield one_line(f"other probes: {', '.join(other)}: figures may differ for that alone")
    if old.recorded == "replayed":
        yield "the older file is a replay, not a certificate"
