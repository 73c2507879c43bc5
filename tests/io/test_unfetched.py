"""What apt and pip say when a server gives them nothing.

``recorded/unfetched.txt`` is recorded: apt 2.6.1 and 3.0.4 (Debian 12 and 13) and pip 22.0.2,
23.0.1, 24.0 and 25.1.1 against a server of ours with one fault at a time, 2026-12-03; tracebacks
and progress are cut, and what two releases say alike stands once. A section's second word is what
was asked for and the fault.
"""

import re
from pathlib import Path

import pytest

from envbuild.engines.failures import failure
from envbuild.errors import BuildError, EnvbuildError, MachineError, StaleError
from envbuild.lock.repository import refusal

_TEXT = (Path(__file__).parent / "recorded" / "unfetched.txt").read_text()
SECTIONS: dict[str, str] = dict(re.findall(r"(?m)^== (.+)\n((?:(?!== ).*\n)+)", _TEXT + "\n"))
LOGIN, PROXY = (MachineError, "wants a login, or refuses"), (MachineError, "a proxy wants a login")
COUNTED, ITS_OWN = (MachineError, "counts requests"), (MachineError, "a fault of its own")
NETWORK = (MachineError, "could not reach the network")
LOST, BYTES = (StaleError, "no longer serves"), (StaleError, "another hash than the lock")
PLACE = (MachineError, "not where it should be")
SILENT = (MachineError, "pip does not tell which")
FAULTS: dict[str, tuple[type[EnvbuildError], str]] = {
    "401": LOGIN, "403": LOGIN, "407": PROXY, "429": COUNTED, "500": ITS_OWN, "503": ITS_OWN,
    "404": LOST, "cut": NETWORK, "hang": NETWORK, "stall": NETWORK, "reset": NETWORK,
    "garbage": NETWORK, "dns": NETWORK, "dnss": NETWORK, "refused": NETWORK, "refuseds": NETWORK,
    "tls": NETWORK, "plain": NETWORK, "proxy407": PROXY, "proxydns": NETWORK,
    "proxyrefused": NETWORK,
}  # fmt: skip
# Where the tool says less, or something else, than others do of the same fault.
OTHERWISE: dict[str, tuple[type[EnvbuildError], str]] = {
    "update-404": PLACE, "update-loop": PLACE, "update-unroutable": PLACE,
    "update-login": (MachineError, "something else than an archive"),
    "pool-cut": LOST, "pool-stall": LOST, "pool-login": LOST, "helper-login": LOST,
    "wheel-login": BYTES,
    "index-loop": NETWORK, "index-cut": SILENT, "index-login": SILENT,
} | {f"index-{status}": SILENT for status in (403, 404, 407, 429, 500, 503)}  # fmt: skip


def log(said: str) -> str:
    """The frame is made, as in the logs of docker 28.5."""
    lines = "".join(f"#7 1.0 {line}\n" for line in said.splitlines())
    end = '#7 ERROR: process "/bin/sh -c x" did not complete successfully: exit code: 1\n'
    return f"#7 [2/3] RUN x\n{lines}{end}"


@pytest.mark.parametrize("head", SECTIONS)
def test_a_server_that_gives_nothing_is_no_fault_of_the_step(head: str) -> None:
    what = head.split()[1]
    kind, says = OTHERWISE.get(what) or FAULTS[what.rpartition("-")[2]]
    if what == "wheel-cut" and not head.startswith("pip-25"):
        kind, says = BYTES  # older pips take what came for the whole
    error = failure("docker", log(SECTIONS[head]))
    assert type(error) is kind
    assert says in error.what
    assert error.why
    assert error.fix


def test_each_fault_is_recorded_of_each_tool() -> None:
    heads = [head.split() for head in SECTIONS]
    asked = {(tool.partition("-")[0], what) for tool, what in heads}
    assert len(asked) == 80
    assert {what.rpartition("-")[2] for _, what in asked} >= set(FAULTS)


@pytest.mark.parametrize("fault", ["401", "403", "407"])
def test_a_login_that_is_wanted_is_no_wrong_signature(fault: str) -> None:
    said = SECTIONS[f"apt-2.6.1 update-{fault}"]
    assert "is not signed" in said
    error = refusal(said)
    assert type(error) is MachineError
    # The control: without the line that says why, only the signature is left.
    rest = "\n".join(line for line in said.splitlines() if fault not in line or "signed" in line)
    assert type(refusal(rest)) is StaleError


def test_a_fetch_that_came_the_second_time_is_not_blamed() -> None:
    again = (
        "WARNING: Retrying (Retry(total=4)) after connection broken by "
        "'NewConnectionError('Failed to establish a new connection: [Errno 111]')': /simple/x/\n"
    )
    error = failure("docker", log(again + "Successfully installed x-1\ncat: /nope: No such file"))
    assert type(error) is BuildError
    assert type(failure("docker", log(again + SECTIONS["pip-23.0.1 index-cut"]))) is MachineError
    in_vain = f"{again}ERROR: No matching distribution found for x==1\n"
    assert "could not reach the network" in failure("docker", log(in_vain)).what


def test_what_only_sounds_alike_is_another_matter() -> None:
    for line in (
        "Could not resolve dependencies for project x",
        "psql: Could not connect to the database",
        "requests.exceptions.HTTPError: 500 Server Errors",
    ):
        assert type(failure("docker", log(line))) is BuildError, line


def test_a_step_is_named_in_a_line_without_its_mounts() -> None:
    step = "#7 [2/3] RUN --mount=type=secret,id=ca " + "echo all is well; " * 40
    text = log("cat: /nope: No such file").replace("#7 [2/3] RUN x", step)
    error = failure("docker", text)
    assert "[2/3] RUN echo all is well;" in error.what
    assert error.what.endswith("…")
    assert len(error.what) < 200
