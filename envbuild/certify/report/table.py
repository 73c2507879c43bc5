"""A certificate as a table; words and colours only, nothing is decided here."""

from collections.abc import Iterator

from envbuild.values.certificate import Certificate, Check, SuiteResult

_WORDS = {
    0: "CERTIFIED",
    4: "NOT CERTIFIED, this machine cannot show it (exit 4)",
    6: "NOT CERTIFIED, the image fails (exit 6)",
    8: "NOT CERTIFIED, inconclusive (exit 8)",
    9: "NOT CERTIFIED, the suite proved nothing (exit 9)",
}
_GPU_LESS = "--require toolchain needs no GPU"


def table(certificate: Certificate, saved: str | None = None) -> str:
    """The lines that people read.

    Args:
        certificate: the result.
        saved: the file it was written to.
    """
    return "\n".join(_lines(certificate, saved))


def _lines(c: Certificate, saved: str | None) -> Iterator[str]:
    for suite in c.suites:
        yield from _suite(c, suite)
    controls = [control for s in c.suites for check in s.checks for control in check.controls]
    if controls:
        red = sum(control.red for control in controls)
        names = ", ".join(dict.fromkeys(control.name for control in controls))
        yield f"controls  {red} of {len(controls)} turned red: {names}"
    yield _verdict(c, saved)
    if c.not_run:
        yield f"not run   {', '.join(c.not_run)}"
    if c.recorded == "replayed":
        return
    if c.exit == 0:
        yield f"next      envbuild run {c.subject.name}"
    elif c.exit == 4 and not any(s.name == "toolchain" and s.required for s in c.suites):
        yield f"next      run it where the GPU is; {_GPU_LESS}"


def _suite(c: Certificate, suite: SuiteResult) -> Iterator[str]:
    counted = [check for check in suite.checks if check.core or check.verdict != "skip"]
    passed = sum(check.verdict == "pass" for check in counted)
    note = "" if suite.required else " (not required"
    if note:
        note += ", but nothing in it may fail)" if suite.verdict == "fail" else ")"
    summary = f"{suite.verdict} {passed}/{len(counted)}{note}"
    yield f"{suite.name:<9} {summary}  {_essence(c, suite)}".rstrip()
    open_points: dict[str, list[str]] = {}
    for check in suite.checks:
        if check.verdict == "pass" or (check.verdict == "skip" and not check.core):
            continue
        owner = f" [{check.blame}]" if check.blame else ""
        text = f"{check.verdict:<12} {check.reason}{owner}"
        open_points.setdefault(text, []).append(check.id.split(".", 1)[1])
    for text, names in open_points.items():
        word, _, rest = text.partition(" ")
        yield f"  {word:<12} {', '.join(names)}: {rest.strip()}"


def _essence(c: Certificate, suite: SuiteResult) -> str:
    """What a passing suite showed, in one line."""
    if suite.verdict != "pass":
        return ""
    checks = {check.id.split(".", 1)[1]: check for check in suite.checks}
    if suite.name == "toolchain":
        parts = []
        if _passed(checks.get("compiles")):
            parts.append(checks["compiles"].value)
        if _passed(checks.get("pair")):
            pair = checks["pair"]
            parts.append(f"{pair.value} allowed (up to {pair.inputs.get('ceiling')})")
        own = "" if parts else "prebuilt "
        parts.append(f"{own}SASS for sm_{checks['sass'].limit.replace(',', ', sm_')}")
        parts.append("no driver in the image")
        return "; ".join(parts)
    runtimes = c.runtimes
    elements = int(checks["sums"].inputs.get("elements") or 0)
    return (
        f"{elements:,}".replace(",", " ")
        + " sums right, each call checked; "
        + f"driver {runtimes.driver_cuda}, toolkit {runtimes.toolkit or 'none'}, "
        + (runtimes.framework or "torch none")
    )


def _passed(check: Check | None) -> bool:
    return check is not None and check.verdict == "pass"


def _verdict(c: Certificate, saved: str | None) -> str:
    required = ", ".join(s.name for s in c.suites if s.required) or "nothing"
    line = f"{_WORDS.get(c.exit, 'NOT CERTIFIED')} {required}"
    if c.recorded == "replayed":
        line = f"REPLAYED, no certificate: {c.verdict} (exit {c.exit}) {required}"
    elif c.exit:
        line = f"{_WORDS.get(c.exit, 'NOT CERTIFIED')}: {required}"
    if c.device:
        line += f", cc {c.device.cc}"
    elif c.cc:
        line += f", cc {', '.join(c.cc)} (no GPU used)" if not c.exit else ""
    line += f", {c.subject.kind} {_short(c.subject.digest)}"
    if c.device:
        line += f" on {c.device.uuid[:12]}… ({c.device.name}, {c.access})"
    return line + (f"  → {saved} (unsigned)" if saved else "")


def _short(digest: str | None) -> str:
    return "without a digest" if digest is None else f"{digest[:19]}…"
