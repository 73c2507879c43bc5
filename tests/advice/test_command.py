"""``envbuild doctor`` as a command: exit codes, bad input, what is written and shown."""

import io
import json
from pathlib import Path

import pytest

from envbuild.cli.app import run
from envbuild.values.codec import dump, load
from envbuild.values.diagnosis import Bundle
from tests.advice.hostile import attack, overlay
from tests.cases.machines import host_of

Cap = pytest.CaptureFixture[str]


@pytest.fixture
def host(tmp_path: Path) -> str:
    path = tmp_path / "host.json"
    path.write_bytes(dump(host_of({})))
    return str(path)


def test_a_healthy_machine_is_0_and_said_to_be(host: str, capfd: Cap) -> None:
    assert run(["doctor", "--host", host]) == 0
    out = capfd.readouterr().out
    assert "nothing is known to be wrong" in out
    assert "driver: 580.95.05" in out


def test_an_error_is_4_with_steps_checks_and_source(host: str, tmp_path: Path, capfd: Cap) -> None:
    log = tmp_path / "log"
    log.write_text("\x1b[31mNinja is required to load C++ extensions\x1b[0m\x1b]0;x\x07\n")
    assert run(["doctor", "--host", host, "--log", str(log)]) == 4
    out = capfd.readouterr().out
    assert "error" in out
    assert "check:" in out
    assert "errors/ninja-missing" in out
    assert "\x1b" not in out


def test_only_a_warning_is_0(host: str, tmp_path: Path, capfd: Cap) -> None:
    (tmp_path / "log").write_text("something else\n")
    assert run(["doctor", "--host", host, "--log", str(tmp_path / "log")]) == 0
    assert "I do not know" in capfd.readouterr().out


def test_several_logs_are_told_apart(host: str, tmp_path: Path, capfd: Cap) -> None:
    for name, text in (("a", "CUDA error 804"), ("b", "\nERR_NVGPUCTRPERM")):
        (tmp_path / name).write_text(text)
    args = ["--log", str(tmp_path / "a"), "--log", str(tmp_path / "b")]
    assert run(["doctor", "--json", "--host", host, *args]) == 4
    seen = json.loads(capfd.readouterr().out)["seen"]
    assert {(one["log"][-1], one["line"]) for one in seen} == {("a", 1), ("b", 2)}


@pytest.mark.parametrize(
    "args",
    [
        ["--host", "/nowhere"],
        ["--log", "/nowhere"],
        ["--log", "/"],
        ["--log", "a\0b"],
        ["--log", "-", "--log", "-"],
        ["--host", "-", "--log", "-"],
        ["--image", "/dev/null/x"],
        ["--no-such-flag"],
    ],
)
def test_bad_input_is_2_or_4_and_no_traceback(args: list[str], capfd: Cap) -> None:
    assert run(["doctor", *args]) in {2, 4}
    err = capfd.readouterr().err
    assert "Traceback" not in err
    assert "bug in envbuild" not in err


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\xff", b'{"gpus": 1}', b"{" * 9999])
def test_a_host_that_is_none_is_2(data: bytes, tmp_path: Path, capfd: Cap) -> None:
    path = tmp_path / "host.json"
    path.write_bytes(data)
    # An empty object is a machine of which nothing is known.
    assert run(["doctor", "--host", str(path)]) == (0 if data == b"{}" else 2)
    assert "Traceback" not in capfd.readouterr().err


def test_this_machine_is_looked_at_where_none_is_given(capfd: Cap) -> None:
    assert run(["doctor", "--json"]) in {0, 4}
    assert json.loads(capfd.readouterr().out)["schema"] == "envbuild/diagnosis/1"


def test_a_bundle_tells_nobody_who_it_is(
    tmp_path: Path, capfd: Cap, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = host_of({"env": {"CUDA_HOME": "/home/alice/cuda"}})
    (tmp_path / "host.json").write_bytes(dump(record))
    line = (
        "/home/alice/run.py token=abcdef hf_abcdefghijklmnop alice@example.org 10.1.2.3:5000 "
        "https://bob:pw@example.org/x GPU-6f1c2d3e-1111-2222-3333-444455556666 CUDA error 804\n"
    )
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(line.encode())))
    target = tmp_path / "bundle.json"
    args = ["doctor", "--host", str(tmp_path / "host.json"), "--log", "-", "--bundle", str(target)]
    assert run(args) == 4
    assert "look it through" in capfd.readouterr().err
    text = target.read_text()
    for secret in ("alice", "bob", ":pw", "abcdef", "6f1c2d3e", "10.1.2.3", "hf_abc"):
        assert secret not in text, secret
    made = load(Bundle, text.encode(), "bundle")
    assert "CUDA error 804" in made.diagnosis.seen[0].text
    assert made.host.os.id == "ubuntu24.04"


def test_a_bundle_names_no_server_folder_or_log(tmp_path: Path, capfd: Cap) -> None:
    (tmp_path / "host.json").write_bytes(dump(host_of({})))
    log = tmp_path / "merger of acme.log"
    log.write_text(
        "ophelia@lab7:~/merger$ docker run reg.corp.example:5000/merger/net:1 nvidia-smi\n"
        "manifest for reg.corp.example:5000/merger/net:1 not found: manifest unknown\n"
        "/home/ophelia/merger/src/net.cu(3): error: texture is not a template\n"
        "Dec  2 10:00:00 lab7 kernel: NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus.\n"
    )
    target = tmp_path / "bundle.json"
    args = ["doctor", "--host", str(tmp_path / "host.json"), "--log", str(log)]
    assert run([*args, "--bundle", str(target)]) == 4
    assert "merger of acme.log" in capfd.readouterr().out
    text = target.read_text()
    for secret in ("merger", "acme", "corp", "lab7", "ophelia", str(tmp_path)):
        assert secret not in text, secret
    made = load(Bundle, text.encode(), "bundle")
    assert {"texture-references", "fallen-off"} <= {one.id for one in made.diagnosis.seen}
    assert {one.log for one in made.diagnosis.seen} == {"log 1"}


def test_hostile_machines_and_logs_raise_nothing() -> None:
    raised, _ = attack(300)
    assert raised == []


def test_rows_that_are_spoilt_are_refused_or_used(tmp_path: Path) -> None:
    assert overlay(200, tmp_path) == []
