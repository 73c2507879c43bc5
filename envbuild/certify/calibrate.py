"""Rates that no row has, as this GPU showed them: rows for a person to review, never a limit yet.

A rate is a whole number of lanes, and hardware is made in powers of two and three times those: the
smallest of them that the figure does not pass is proposed, with the figure beside it.
"""

import json
import re
from collections.abc import Iterator

from envbuild.certify.limits import ABOVE_CYCLES
from envbuild.values.certificate import Certificate, Check, Device, Measure

_CHECK = re.compile(r"fast\.(?P<unit>fma|tensor)-(?P<dtype>\w+)")
# The accumulator that the kernels of ours sum in; integers and doubles have one of their own.
_ACCUMULATE = dict.fromkeys(("f16", "bf16", "tf32", "f8"), "f32")
# A kernel that stays this far below a lane count says little about it.
_DOUBTFUL = 0.8


def overlay(certificate: Certificate) -> str | None:
    """An overlay for ``ENVBUILD_MATRICES`` with a row for each unknown rate; None = there is none.

    Only figures of this run are written: where a row knows the rate, nothing is.
    """
    device = certificate.device
    if device is None:
        return None
    rows = list(_rows(device, certificate))
    if not rows:
        return None
    source = _source(device)
    says = (
        f"envbuild certify --calibrate on {device.name}, driver {certificate.runtimes.driver}, "
        f"{certificate.finished[:10]}: not reviewed yet"
    )
    return "\n".join(
        (
            "# Measured, for review: a kernel reaches a little less than the rate. What no",
            "# document confirms should be measured on a second device before it is trusted.",
            "sources:",
            f"- {{id: {source}, says: {json.dumps(says)}}}",
            "rates:",
            *rows,
            "",
        )
    )


def _rows(device: Device, certificate: Certificate) -> Iterator[str]:
    for check in (check for suite in certificate.suites for check in suite.checks):
        found = _CHECK.fullmatch(check.id)
        if found and _unknown(check) and check.measure:
            yield _row(device, found["unit"], found["dtype"], check.measure)


def _unknown(check: Check) -> bool:
    """It was measured, its data is right, and only the limit is missing."""
    open_ = check.verdict == "inconclusive" and check.reason.startswith("limit unknown")
    return open_ and bool(check.controls) and all(control.red for control in check.controls)


def _row(device: Device, unit: str, dtype: str, measure: Measure) -> str:
    rate = proposed(measure.value)
    note = f"{measure.value:.1f} measured ({measure.low:.1f} to {measure.high:.1f})"
    if measure.value < _DOUBTFUL * rate:
        note += ": far below, the rate may be another"
    sums = _ACCUMULATE.get(dtype, "") if unit == "tensor" else ""
    named = f", accumulate: {sums}" if sums else ""
    return (
        f"- {{cc: '{device.cc}', unit: {unit}, dtype: {dtype}{named}, per_sm_clock: {rate},\n"
        f"   source: [{_source(device)}], status: measured, note: {json.dumps(note)}}}"
    )


def _source(device: Device) -> str:
    return f"calibrated-{device.cc}"


def proposed(value: float) -> int:
    """The smallest of 2^n and 3 x 2^n that ``value`` does not pass."""
    power = 1
    while power * ABOVE_CYCLES < value:
        power *= 2
    between = 3 * power // 4
    return between if power >= 4 and between * ABOVE_CYCLES >= value else power
