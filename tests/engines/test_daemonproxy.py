"""What is said where docker's daemon and this shell reach the world in two ways.

The texts are docker 28.5.2's, recorded 2026-12-03 with a proxy that is not there, and with none.
"""

import pytest

from envbuild.engines.daemonproxy import told
from envbuild.engines.failures import failure, refused
from envbuild.errors import EnvbuildError, MachineError, StaleError

HEAD = 'failed to do request: Head "https://registry.example/v2/a/b/manifests/1": '
PROXY = f"{HEAD}proxyconnect tcp: dial tcp 127.0.0.1:9: connect: network is unreachable"
NAMES = f"{HEAD}dial tcp: lookup registry.example on 10.9.8.7:53: dial udp: network is unreachable"
OWN = {"HttpProxy": "", "HttpsProxy": "http://xxxxx:xxxxx@127.0.0.1:9", "NoProxy": "x.example"}
NONE = {"HttpProxy": "", "HttpsProxy": "", "NoProxy": ""}


def errors(text: str) -> tuple[EnvbuildError, EnvbuildError]:
    """Of a build and of a pull."""
    return failure("docker", f"#2 ERROR: {text}\nERROR: {text}"), refused("docker", text)


@pytest.fixture(autouse=True)
def shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """This shell has a proxy, with a login."""
    monkeypatch.setenv("https_proxy", "http://me:s3cret@p.example:3128")
    monkeypatch.setenv("no_proxy", "inside.example")


def test_the_daemons_own_proxy_is_named() -> None:
    for error in errors(PROXY):
        found = told(error, OWN | {"HttpsProxy": "http://me:s3cret@127.0.0.1:9"})
        assert found.exit_code == 4
        assert "a proxy of its own, 127.0.0.1:9" in found.why
        assert "daemon.json" in found.fix
        assert "s3cret" not in str(found)


def test_a_proxy_that_only_the_shell_has_is_no_help_to_the_daemon() -> None:
    for error in errors(NAMES):
        found = told(error, NONE)
        assert "this shell has a proxy for registry.example" in found.why
        assert NAMES in str(found)
        assert "p.example" not in found.fix + found.why
        assert "s3cret" not in str(found)


@pytest.mark.parametrize("host", ["inside.example", "registry.example"])
def test_where_the_shell_has_none_either_nothing_is_added(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if host == "registry.example":
        monkeypatch.delenv("https_proxy")
    for error in errors(NAMES.replace("registry.example", host)):
        assert told(error, NONE) is error


def test_other_errors_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    stale = StaleError(PROXY)
    assert told(stale, OWN) is stale
    full = MachineError("no space left on device")
    assert told(full, OWN) is full
    for error in errors(NAMES):
        assert told(error, OWN) is error, "both have one: it is something else"
        monkeypatch.setenv("https_proxy", "http://me:s3cret@[")
        assert told(error, NONE) is error
        monkeypatch.setenv("https_proxy", "http://me:s3cret@p.example:3128")
