"""What a passing suite showed, in one line, from its checks alone; pure."""

from collections.abc import Callable

from envbuild.certify.report.figures import one_line, share, short
from envbuild.values.certificate import Certificate, Check, SuiteResult

_Checks = dict[str, Check]


def essence(certificate: Certificate, suite: SuiteResult) -> str:
    """The line; empty for a suite that did not pass."""
    if suite.verdict != "pass":
        return ""
    checks = {short(check): check for check in suite.checks if check.verdict == "pass"}
    say = _OWN.get(suite.name, _any)
    return one_line(say(certificate, checks))


def _any(_: Certificate, checks: _Checks) -> str:
    """The core figure that is nearest to its floor, else the names of what passed."""
    near = [
        (of - m.floor, name, of)
        for name, check in checks.items()
        if check.core and (m := check.measure) and m.floor and (of := share(m)) is not None
    ]
    if near:
        nearest = min(near)
        figures = sum(check.measure is not None for check in checks.values())
        least = f"{nearest[1]}, {nearest[2] * 100:.1f} % of the limit"
        return f"{figures} figures; nearest to its floor: {least}"
    return ", ".join(checks)


def _toolchain(_: Certificate, checks: _Checks) -> str:
    parts = []
    if compiles := checks.get("compiles"):
        parts.append(compiles.value)
    if pair := checks.get("pair"):
        parts.append(f"{pair.value} allowed (up to {pair.inputs.get('ceiling')})")
    if sass := checks.get("sass"):
        own = "" if parts else "prebuilt "
        parts.append(f"{own}SASS for sm_{sass.limit.replace(',', ', sm_')}")
    if "no-driver" in checks:
        parts.append("no driver in the image")
    return "; ".join(parts)


def _smoke(certificate: Certificate, checks: _Checks) -> str:
    parts = []
    if sums := checks.get("sums"):
        elements = sums.inputs.get("elements") or ""
        whole = elements.isdecimal() and len(elements) < 20
        count = f"{int(elements):,}".replace(",", " ") if whole else elements
        parts.append(f"{count} sums right, each call checked")
    runtimes = certificate.runtimes
    parts.append(
        f"driver {runtimes.driver_cuda}, toolkit {runtimes.toolkit or 'none'}, "
        + (runtimes.framework or "torch none")
    )
    return "; ".join(parts)


_OWN: dict[str, Callable[[Certificate, _Checks], str]] = {
    "toolchain": _toolchain,
    "smoke": _smoke,
}
