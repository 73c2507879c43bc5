"""The command: table, record, replay, errors; and on a Python that has no Unix modules."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from envbuild.host.load import load_host
from envbuild.host.redact import own_names, redact
from envbuild.values.codec import dump
from envbuild.values.host import EngineFacts, Host

ROOT = Path(__file__).parent.parent.parent
HOSTS = ROOT / "tests/hosts"


def envbuild(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "envbuild", *args],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_table_of_a_stored_host() -> None:
    done = envbuild("detect", "--host", str(HOSTS / "rtx5090-gtx1080ti-open.json"))
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].startswith("gpu       NVIDIA GeForce RTX 5090, cc 12.0, 32607 MiB")
    card = "NVIDIA GeForce GTX 1080 Ti, cc 6.1, 0000:02:00.0 (10de:1b06), from pci"
    assert lines[1] == f"gpu       {card}"
    assert lines[2] == "driver    580.95.05, up to CUDA 13.0, open kernel module, from nvml"
    assert "failed    pci: 0000:02:00.0 (10de:1b06) is not driven by driver 580.95.05" in lines


def test_record_and_replay(tmp_path: Path) -> None:
    file = tmp_path / "host.json"
    done = envbuild("detect", "-o", str(file))
    assert (done.returncode, done.stdout) == (0, "")
    host = load_host(file)
    assert host.kind == "recorded"
    assert host.recorded
    replayed = envbuild("detect", "--host", str(file), "--json")
    assert replayed.stdout.encode() == file.read_bytes()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{\n  "gpus": [\n    {"cc": \n', "line 4"),
        ('{"gpus": [{"cc": 8.6}]}', "$.gpus[0].cc"),
        ('{"gpus": [{"cc": "8.66"}]}', "$.gpus[0].cc"),
        ('{"driver": {"version": "latest"}}', "$.driver.version"),
        ('{"gpu": []}', "gpu"),
        ("gpus:\n- cc: '8.6'\n", "line 1"),
        ("\udcff", "UTF-8"),
        ("", "line 1"),
    ],
)
def test_bad_host_file(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "host.json"
    file.write_text(text, errors="surrogateescape")
    done = envbuild("detect", "--host", str(file))
    assert done.returncode == 2
    assert str(file) in done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_missing_host_file() -> None:
    done = envbuild("detect", "--host", "/nonexistent/host.json")
    assert done.returncode == 2
    assert "/nonexistent/host.json cannot be read" in done.stderr


def test_control_characters_of_a_file_do_not_reach_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "host.json"
    file.write_text(json.dumps({"gpus": [{"name": "a\x1b[2Jb"}], "recorded": "\x1b]0;x\x07"}))
    done = envbuild("detect", "--host", str(file))
    assert done.returncode == 0
    assert "\x1b" not in done.stdout


def test_redact_keeps_versions_and_drops_identity() -> None:
    host = load_host(HOSTS / "h100-mig.json")
    text = dump(redact(host)).decode()
    assert "GPU-99999999" not in text
    assert "MIG-0f0e" not in text
    assert "570.195.03" in text
    assert redact(redact(host)) == redact(host)


def test_redact_home_folders(tmp_path: Path) -> None:
    file = tmp_path / "host.json"
    specs = ["nvidia.com/gpu=GPU-0123abcd", "nvidia.com/gpu=0"]
    host = {
        "python": {"name": "python", "path": "/home/eve/venv/bin/python"},
        "toolkits": [{"name": "cuda", "path": "C:\\Users\\eve\\cuda"}],
        "env": {"LD_LIBRARY_PATH": "/x:/home/eve/lib", "NVIDIA_VISIBLE_DEVICES": "GPU-0123abcd-1"},
        "cdi": [{"path": "/etc/cdi/n.yaml", "devices": specs}],
    }
    file.write_text(json.dumps(host))
    done = envbuild("detect", "--host", str(file), "--redact", "--json")
    assert done.returncode == 0
    assert "eve" not in done.stdout
    assert "0123abcd" not in done.stdout
    assert json.loads(done.stdout)["cdi"][0]["devices"] == ["nvidia.com/gpu=0"]


@pytest.mark.parametrize("file", sorted(HOSTS.glob("*.json")), ids=lambda file: file.stem)
def test_redacted_hosts_hold_no_identity(file: Path) -> None:
    host = load_host(file)
    short = redact(host, ("someone", "box"))
    text = dump(short).decode()
    for word in ("someone", "Some One", "/home/", "5555555555", "444444444444"):
        assert word not in text, word
    for uuid in re.findall(r"(?:GPU|MIG)-[0-9a-f-]{8,}", text):
        assert uuid.startswith(("GPU-00000000-0000", "MIG-00000000-0000"))
    assert [g.cc for g in short.gpus] == [g.cc for g in host.gpus]
    assert short.packages == host.packages
    assert redact(short) == short


@pytest.mark.parametrize(
    "says",
    [
        'Get "http://b7.corp.example:2376/info": lookup b7.corp.example on 10.9.8.7:53: no',
        "Cannot connect to the Docker daemon at tcp://10.9.8.7:2376. Is the docker daemon running?",
        "error: ssh://eve@b7.corp.example: ssh: Could not resolve hostname b7.corp.example",
    ],
    ids=["name", "address", "ssh"],
)
def test_redact_where_an_engine_was_looked_for(says: str) -> None:
    engine = EngineFacts(name="docker", says=says)
    (plain,) = redact(Host(engines=(engine,))).engines
    assert plain.says
    assert not re.search(r"b7|corp|eve|10\.9", plain.says)
    assert redact(Host(engines=(plain,))).engines == (plain,)


def test_redact_names_of_user_machine_and_mirrors(tmp_path: Path) -> None:
    """Made: every place in which a name was seen to stand."""
    host = {
        "engines": [
            {"name": "docker", "context": "eve-laptop", "endpoint": "ssh", "cli": "/opt/eve/docker"}
        ],
        "apt_sources": [
            {"path": "/a.list", "url": "https://apt.corp.example/cuda/repos/", "suite": "/"},
            {"path": "/b.list", "url": "https://developer.download.nvidia.com/compute/cuda/repos/"},
        ],
        "wsl": {"generation": 2, "distro": "eve-ubuntu"},
        "windows": {"distros": {"eve-ubuntu": "2", "Ubuntu-24.04": "2"}},
        "env": {"NCCL_COMM_ID": "192.0.2.77:29500", "LD_LIBRARY_PATH": "/scratch/eve/lib:/evening"},
        "probes": [{"name": "mount", "ok": False, "says": "/corp/nas7 (nfs4) does not answer"}],
        "configs": [{"path": "C:/Users/Eve Smith/.wslconfig", "values": {"wsl2.memory": "8GB"}}],
        "kernel": {"log": ["NVRM: GPU-0123abcd-1111-2222-3333-444455556666 on eve"]},
    }
    file = tmp_path / "host.json"
    file.write_text(json.dumps(host))
    short = redact(load_host(file), ("eve",))
    text = dump(short).decode()
    for word in ("eve-", "/eve/", "Smith", "corp", "nas7", "0123abcd", "192.0.2"):
        assert word not in text, word
    assert "/evening" in text
    assert [s.url for s in short.apt_sources] == [
        "https://mirror/cuda/repos/",
        "https://developer.download.nvidia.com/compute/cuda/repos/",
    ]
    assert short.windows
    assert dict(short.windows.distros) == {"other": "2", "Ubuntu-24.04": "2"}


def test_names_of_here_are_taken_from_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "eve")
    monkeypatch.setenv("LOGNAME", "nvidia")
    monkeypatch.setattr("platform.node", lambda: "lab7.corp.example")
    assert {"eve", "lab7", "lab7.corp.example"} <= set(own_names())
    assert "nvidia" not in own_names()


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("--image", "x:1", "--host", "y"), 2, "do not go together"),
        (("--image", "x:1", "--redact"), 2, "do not go together"),
        (("--engine", "podman"), 2, "none is named"),
        (("--image", "x:1", "--engine", "boat"), 2, "no engine 'boat'"),
    ],
)
def test_options_that_do_not_fit(args: tuple[str, ...], code: int, says: str) -> None:
    done = envbuild("detect", *args)
    assert done.returncode == code
    assert says in done.stderr


BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name in {"fcntl", "pwd", "grp", "resource", "termios"}:
            raise ImportError(f"{name} is not there on Windows")

for name in ("fcntl", "pwd", "grp", "resource", "termios"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Blocked())
import envbuild.cli.plan, envbuild.cli.detect
from envbuild.cli import main
main(["detect", "--json"])
"""


def test_runs_without_unix_modules() -> None:
    if not (ROOT / "envbuild/cli/plan.py").exists():
        pytest.skip("the plan command is not here yet")
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED], cwd=ROOT, capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout)["schema"] == "envbuild/host/1"


def test_detection_imports_nothing_heavy() -> None:
    code = (
        "import sys; from envbuild.host.detect import detect; detect()\n"
        "print([m for m in ('pynvml', 'docker', 'requests', 'jinja2', 'rich') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_record_host_script(tmp_path: Path) -> None:
    file = tmp_path / "host.json"
    done = subprocess.run(
        [str(ROOT / "script/record-host"), str(file), "--redact"],
        env=os.environ | {"PYTHON": sys.executable},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert load_host(file).recorded
    usage = subprocess.run(
        [str(ROOT / "script/record-host")], capture_output=True, text=True, timeout=60, check=False
    )
    assert usage.returncode == 2
    assert "record-host FILE" in usage.stderr
