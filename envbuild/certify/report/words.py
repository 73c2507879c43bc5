"""The verdict of a certificate and what it is about, in words that every report shares; pure."""

from envbuild.certify.report.figures import one_line
from envbuild.values.certificate import Certificate

_WORDS = {
    0: "CERTIFIED",
    4: "NOT CERTIFIED, this machine cannot show it (exit 4)",
    6: "NOT CERTIFIED, the image fails (exit 6)",
    8: "NOT CERTIFIED, inconclusive (exit 8)",
    9: "NOT CERTIFIED, the suite proved nothing (exit 9)",
}


def headline(c: Certificate) -> str:
    """The verdict and the suites that it is of."""
    required = one_line(", ".join(suite.name for suite in c.suites if suite.required)) or "nothing"
    if c.recorded == "replayed":
        return f"REPLAYED, no certificate: {c.verdict} (exit {c.exit}) {required}"
    word = _WORDS.get(c.exit, "NOT CERTIFIED")
    return f"{word}: {required}" if c.exit else f"{word} {required}"


def where(c: Certificate) -> str:
    """What ran on what, with which access."""
    text = f"{c.subject.name}, {c.subject.kind} {c.subject.digest or 'without a digest'}"
    if c.device:
        text += f", on {c.device.name} (cc {c.device.cc}, {c.device.uuid})"
        text += f", driver {c.runtimes.driver or 'unknown'}"
    else:
        text += ", no GPU used"
    engine = " ".join(part for part in (c.engine, c.engine_version) if part)
    return one_line(f"{text}; {engine}, access {c.access}; {c.finished}; {c.tool}")
