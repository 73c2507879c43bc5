"""A certificate as JUnit XML for CI: a skip says why, a void check is an error."""

from collections.abc import Iterator
from xml.etree import ElementTree as ET

from envbuild.certify.report.figures import share
from envbuild.values.certificate import Certificate, Check, Measure, SuiteResult

_TAGS = {"fail": "failure", "skip": "skipped", "inconclusive": "error", "void": "error"}


def junit(certificate: Certificate) -> bytes:
    """The document; equal certificates give equal bytes."""
    root = ET.Element("testsuites", name="envbuild certify")
    totals = [0, 0, 0, 0]
    for suite in certificate.suites:
        element = _suite(certificate, suite)
        root.append(element)
        for i, name in enumerate(("tests", "failures", "errors", "skipped")):
            totals[i] += int(element.get(name, "0"))
    for name, value in zip(("tests", "failures", "errors", "skipped"), totals, strict=True):
        root.set(name, str(value))
    ET.indent(root)
    document: bytes = ET.tostring(root, "utf-8", xml_declaration=True)
    return document + b"\n"


def _suite(certificate: Certificate, suite: SuiteResult) -> ET.Element:
    tags = [_tag(check) for check in suite.checks]
    element = ET.Element(
        "testsuite",
        name=_text(suite.name),
        tests=str(len(suite.checks)),
        failures=str(tags.count("failure")),
        errors=str(tags.count("error")),
        skipped=str(tags.count("skipped")),
        time=f"{suite.seconds:.3f}",
        timestamp=_text(certificate.started.removesuffix("Z")),
    )
    properties = ET.SubElement(element, "properties")
    device = certificate.device
    for name, value in (
        ("subject", certificate.subject.digest or certificate.subject.kind),
        ("engine", certificate.engine),
        ("access", certificate.access),
        ("device", device.name if device else "none"),
        ("required", str(suite.required).lower()),
        ("exit", str(certificate.exit)),
    ):
        ET.SubElement(properties, "property", name=name, value=_text(value))
    for check, tag in zip(suite.checks, tags, strict=True):
        element.append(_case(suite, check, tag))
    return element


def _tag(check: Check) -> str | None:
    # A core check that was skipped decides the verdict: CI must not show it as harmless.
    if check.verdict == "skip" and check.core:
        return "failure"
    return _TAGS.get(check.verdict)


def _case(suite: SuiteResult, check: Check, tag: str | None) -> ET.Element:
    case = ET.Element("testcase", name=_text(check.id), classname=f"envbuild.{_text(suite.name)}")
    if check.measure:
        properties = ET.SubElement(case, "properties")
        for name, value in _properties(check.measure):
            ET.SubElement(properties, "property", name=name, value=_text(value))
    if tag:
        message = f"{check.verdict}: {check.reason or check.says}"
        detail = ET.SubElement(case, tag, message=_text(message))
        if check.blame:
            detail.text = _text(f"blame: {check.blame}; rule: {check.rule}")
    lines = [f"{name} = {value}" for name, value in check.inputs]
    lines += [
        f"control {c.name}: {'red' if c.red else 'STAYED GREEN'}, {c.says}" for c in check.controls
    ]
    ET.SubElement(case, "system-out").text = _text("\n".join([check.says, *lines]))
    return case


def _properties(measure: Measure) -> Iterator[tuple[str, str]]:
    """The figure, number by number, so that CI can draw its history."""
    yield "value", f"{measure.value:.6g}"
    yield "unit", measure.unit
    yield "low", f"{measure.low:.6g}"
    yield "high", f"{measure.high:.6g}"
    yield "samples", str(measure.n)
    if measure.limit is not None:
        yield "limit", f"{measure.limit:.6g}"
    if (of := share(measure)) is not None:
        yield "share", f"{of:.4f}"
    if measure.floor is not None:
        yield "floor", f"{measure.floor:.4g}"
    if measure.shown:
        yield "shown", measure.shown
    if measure.mhz is not None:
        yield "mhz", f"{measure.mhz:.0f}"
    if measure.celsius is not None:
        yield "celsius", str(measure.celsius)
    if measure.throttle:
        yield "throttle", ", ".join(measure.throttle)


def _text(text: str) -> str:
    """Text without the characters that XML 1.0 cannot hold."""
    return "".join(
        c
        if c in "\t\n\r"
        or 0x20 <= ord(c) <= 0xD7FF
        or 0xE000 <= ord(c) <= 0xFFFD
        or ord(c) > 0xFFFF
        else "?"
        for c in text
    )
