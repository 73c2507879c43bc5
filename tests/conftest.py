"""Where engines are required, a test that is skipped must be one that is listed here."""

import os
from collections.abc import Generator

import pytest

#: What a gate may leave out: a part of the reason, and why that is no loss.
ALLOWED = {
    "a machine without CDI specifications of its own": "it would write to this machine's /etc/cdi",
    "the prebuilt x86_64 files": "an arm64 gate has its own",
    "the compilers are for x86_64": "the shipped files are compared on x86_64",
    "the stand-in's compiler is for x86_64": "an arm64 gate has no vendor's image to play",
}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In the gate a skip that nobody allowed is a failure."""
    report = yield
    if report.skipped and os.environ.get("ENVBUILD_TEST_ENGINES") == "required":
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if not any(part in reason for part in ALLOWED):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} may not be skipped in the gate: {reason}"
    return report
