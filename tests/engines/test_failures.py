"""What a failed build means.

``logs/`` is recorded: the plain progress of docker 20.10.24, docker 28.5.2 (buildx 0.29.1) and
podman 4.3.1 on Debian 12, 2026-12-01; transfer lines are cut, a path and an archive's host are
renamed.
"""

from pathlib import Path

import pytest

from envbuild.engines.failures import failure, refused
from envbuild.errors import BuildError, EnvbuildError, InputError, MachineError, StaleError

LOGS = sorted((Path(__file__).parent / "logs").glob("*.txt"))
MEANS: dict[str, tuple[type[EnvbuildError], str]] = {
    "apt": (StaleError, "Version '99-1' for 'hello' was not found"),
    "base": (MachineError, "1111111111"),
    "copy": (BuildError, "nothere"),
    "disk": (MachineError, "No space left on device"),
    "net": (MachineError, "Temporary failure resolving"),
    "offline": (MachineError, "Temporary failure resolving"),
    "quote": (BuildError, "exit"),
    "refused": (MachineError, "connection refused"),
    "run": (BuildError, "cat: /nope: No such file or directory"),
    "syntax": (BuildError, "RUM"),
}
# Recorded: pip 23.2.1, 2026-12-01; the frame around it is made, as docker 28.5's log above.
PIP = """\
#7 [3/3] RUN pip install --require-hashes -r /run/requirements.txt
#7 2.114 ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have
#7 2.114     demo==1.0 from file:///demo-1.0-py3-none-any.whl (from -r r.txt (line 1)):
#7 2.114         Expected sha256 0000000000000000000000000000000000000000000000000000000000000000
#7 2.114              Got        7e8c5b2bbb6b6a8000ca1980d9b85a9bb4508a18c6e945cc899747af322b7e1d
#7 ERROR: process "/bin/sh -c pip install" did not complete successfully: exit code: 1
"""


@pytest.mark.parametrize("log", LOGS, ids=lambda p: p.stem)
def test_a_failure_has_its_exit_code_and_names_the_line(log: Path) -> None:
    kind, line = MEANS[log.stem.partition(".")[0]]
    error = failure(log.stem.partition(".")[2], log.read_text())
    assert type(error) is kind
    assert line in str(error)
    assert error.fix


def test_a_step_that_lacks_its_network_is_told_apart_from_one_that_was_denied_it() -> None:
    log = Path(__file__).parent / "logs" / "offline.docker-20.10.txt"
    assert "--apt-mirror" in failure("docker", log.read_text()).fix
    assert "--offline" in failure("docker", log.read_text(), offline=True).fix


def test_an_engine_that_does_not_start_here_is_told_from_a_program_that_does_not() -> None:
    # Recorded: docker 26.1.5 with trixie's runc 1.1.15 on Debian 12, 2026-12-03; the frame is made.
    said = (
        "runc: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by runc)"
    )
    log = "#7 [2/3] RUN x\n#7 0.1 {}\n#7 ERROR: executor failed running: exit code: 1\n"
    error = failure("docker", log.format(said))
    assert type(error) is MachineError
    assert "own runtime" in error.what
    other = failure("docker", log.format(said.replace("by runc", "by /opt/lib/libx.so")))
    assert type(other) is BuildError


def test_a_network_mode_that_is_none_is_input() -> None:
    text = 'Error response from daemon: network mode "a b" not supported by buildkit\n'
    assert type(failure("docker", text)) is InputError


def test_every_kind_of_failure_is_recorded_on_some_engine() -> None:
    assert {log.stem.partition(".")[0] for log in LOGS} == set(MEANS)


@pytest.mark.parametrize(
    "log", [p for p in LOGS if p.stem.startswith("run.")], ids=lambda p: p.stem
)
def test_the_failing_step_is_named_with_what_its_command_said(log: Path) -> None:
    error = failure("docker", log.read_text())
    assert "RUN echo first; echo second >&2; cat /nope; exit 3" in error.what
    assert "first" in error.why
    assert "second" in error.why
    assert "FROM" not in error.why


@pytest.mark.parametrize(
    "log", [p for p in LOGS if p.stem.startswith("quote.")], ids=lambda p: p.stem
)
def test_a_command_that_only_mentions_an_error_is_not_that_error(log: Path) -> None:
    text = log.read_text()
    assert "no space left on device" in text
    assert type(failure("docker", text)) is BuildError


def test_a_wheel_with_another_hash_makes_the_lock_stale() -> None:
    error = failure("docker", PIP)
    assert type(error) is StaleError
    assert error.exit_code == 7
    # The control: the same step with another complaint is a failed build.
    other = failure("docker", PIP.replace("DO NOT MATCH THE HASHES", "ARE FINE"))
    assert type(other) is BuildError
    assert "pip install --require-hashes" in other.what


def test_a_daemon_that_dies_is_the_machines() -> None:
    # Recorded text of docker 28.5's client when its daemon was killed (2026-12-01).
    text = "ERROR: failed to build: Unavailable: error reading from server: EOF"
    assert type(failure("docker", text)) is MachineError


# Recorded: apt 2.6.1 and sha256sum 9.1 in builds on Debian 12 against a local server, 2026-12-02;
# REFUSED is `unpack.py`'s own word. The frame around each is made, as docker 20.10's log above.
SAID: dict[str, tuple[type[EnvbuildError], str]] = {
    "E: Failed to fetch http://h/cuda_nvcc.tar.xz  404  File not found [IP: 127.0.0.1 1]": (
        StaleError,
        "no longer serves",
    ),
    "E: The repository 'http://h/debian12/x86_64  Release' does not have a Release file.": (
        MachineError,
        "not where it should be",
    ),
    "E: The repository 'http://h/debian12/x86_64  InRelease' is not signed.": (
        StaleError,
        "not signed by the key that is pinned",
    ),
    "sha256sum: WARNING: 1 computed checksum did NOT match": (StaleError, "no longer serves"),
    "REFUSED: cuda_cccl.tar.xz holds '../x', which leads out of the prefix": (
        StaleError,
        "must not be unpacked",
    ),
}


@pytest.mark.parametrize("line", SAID)
def test_what_the_fetching_of_a_toolkit_says(line: str) -> None:
    kind, says = SAID[line]
    frame = "#7 ERROR: executor failed running: exit code: 1"
    log = f"#7 [toolchain 3/3] RUN x\n#7 0.3 {line}\n{frame}\n"
    error = failure("docker", log)
    assert type(error) is kind
    assert says in error.what
    assert line[:40] in error.why


@pytest.mark.parametrize(
    ("log", "code", "fix"),
    [
        # tests/cases: C58.0, C70.1 and C87.3; then the wording of bash.
        (
            (
                "GPG error: .../cuda/repos/ubuntu2004/x86_64  InRelease: The following signatures "
                "couldn't be verified because the public key is not available: "
                "NO_PUBKEY A4B469963BF863CC"
            ),
            7,
            "newer base",
        ),
        ("#8 0.312 /bin/sh: 1: nvidia-smi: not found ... exit code: 127", 5, "certify"),
        ("#8 0.312 bash: line 1: nvidia-smi: command not found", 5, "certify"),
        (
            "ERROR: No matching distribution found for nvidia-cudnn-cu12==9.1.0.70",
            7,
            "another index",
        ),
    ],
)
def test_a_line_of_a_log_gets_its_own_way_out(log: str, code: int, fix: str) -> None:
    error = failure("docker", log)
    assert error.exit_code == code
    assert fix in error.fix
    # The control: another text in the same frame is any build that failed.
    assert fix not in failure("docker", "#8 0.312 /bin/sh: 1: make: not found").fix


# Recorded from docker 20.10.24, docker 28.5.2 and podman 4.3.1 before a made registry, 2026-12-02.
PULLS: dict[str, tuple[type[EnvbuildError], str]] = {
    "filesystem layer verification failed for digest sha256:c430": (StaleError, "mistrust"),
    'failed commit on ref "layer-sha256:12c6": commit failed: unexpected commit digest '
    "sha256:4cb4, expected sha256:12c6: failed precondition": (StaleError, "mistrust"),
    'Error: writing blob: storing blob to file "/var/tmp/storage1/1": happened during read: '
    "Digest did not match, expected sha256:adb8, got sha256:34e9": (StaleError, "mistrust"),
    "unknown: failed to copy: httpReadSeeker: failed open: unexpected status from GET request to "
    "http://h/v2/a/blobs/sha256:12c6: 429 Too Many Requests": (MachineError, "counts requests"),
    "error parsing HTTP 429 response body: invalid character 's'": (
        MachineError,
        "counts requests",
    ),
    "Error: reading blob sha256:adb8: too many requests to registry": (
        MachineError,
        "counts requests",
    ),
    "received unexpected HTTP status: 500 Internal Server Error": (MachineError, "broke off"),
    "short read: expected 1049070 bytes but got 1000: unexpected EOF": (MachineError, "broke off"),
    "expected HTTP 206 from byte range request": (MachineError, "broke off"),
}


@pytest.mark.parametrize("text", PULLS)
def test_what_a_registry_did_wrong_in_a_pull(text: str) -> None:
    kind, fix = PULLS[text]
    error = refused("docker", text)
    assert (type(error), fix in error.fix) == (kind, True), error
    assert fix not in refused("docker", "no such image").fix


@pytest.mark.parametrize(
    "text",
    [
        "SSLError(SSLCertVerificationError(1, 'certificate is not yet valid (_ssl.c:1006)'))",
        "curl: (60) SSL certificate problem: certificate has expired",
        "x509: certificate has expired or is not yet valid: current time 2019 is before 2026",
    ],
)
def test_a_clock_that_is_wrong_is_thought_of(text: str) -> None:
    for error in (failure("docker", f"#7 1.1 {text}\n#7 ERROR: x"), refused("docker", text)):
        assert error.exit_code == 4
        assert "date -u" in error.fix


def test_a_login_that_is_refused_is_said() -> None:
    """Recorded: docker 20.10.24, then 28.5.2, 2026-12-03."""
    head = "unexpected status from HEAD request to http://127.44.3.9:1/v2/a/manifests/1: "
    for text in ("unauthorized: authentication required", f"{head}401 Unauthorized"):
        assert "your login" in refused("docker", text).fix
