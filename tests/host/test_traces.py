"""What a text must not tell when it is handed on, and what it must go on telling."""

import pytest

from envbuild.host.redact import redact
from envbuild.host.traces import homes, places
from envbuild.values.codec import Pairs, dump
from envbuild.values.host import Config, Host, Probe, Tool


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("/home/eve/merger/net.cu(12): error", "~/x/x.cu(12): error"),
        ("C:\\Users\\Eve Smith\\my work\\net.py", "~\\x\\x.py"),
        ("PATH=/home/eve/secret/bin:/usr/bin", "PATH=~/x/bin:/usr/bin"),
        ("error at /home/eve/a b/c and /usr/lib/d", "error at ~/x/x and /usr/lib/d"),
        ("/root/merger/run.py", "~/x/x.py"),
        ("/rootless/run.py", "/rootless/run.py"),
        (
            "/home/eve/miniconda3/envs/bid/lib/python3.11/site-packages/torch/lib/libcudart.so.12",
            "~/miniconda3/envs/x/lib/python3.11/site-packages/torch/lib/libcudart.so.12",
        ),
        (
            "/home/eve/.config/nvidia-container-runtime/config.toml",
            "~/.config/nvidia-container-runtime/config.toml",
        ),
    ],
)
def test_homes(text: str, plain: str) -> None:
    assert homes(text) == plain
    assert homes(plain) == plain


@pytest.mark.parametrize(
    "text",
    [
        "manifest for reg.corp.example:5000/team/merger:1.2 not found: manifest unknown",
        "failed to resolve source metadata for corpreg:5000/team/merger:1",
        'Head "https://reg.corp.example/v2/team/x": lookup reg.corp.example: no such host',
        "Connecting to reg.corp.example:8080 (10.9.8.7)",
        "Dec  2 10:00:00 corp7 kernel: NVRM: Xid (PCI:0000:02:00): 79",
        "2026-12-01T10:00:00.123456+00:00 corp7 dockerd[12]: error",
        "eve@corp7:~/net$ nvidia-smi",
        "[eve@corp7 ~]$ nvidia-smi",
        "dial tcp [fe80:0:0:0:c0:77:1:2]:443",
    ],
)
def test_names_of_machines_and_servers_are_left_out(text: str) -> None:
    plain = places(text)
    assert not any(word in plain for word in ("corp", "merger", "eve", "10.9", "c0:77"))
    assert places(plain) == plain


@pytest.mark.parametrize(
    "text",
    [
        "unresolvable CDI devices nvidia.com/gpu=all",
        "docker.io/nvidia/cuda:12.6: not found",
        "manifest for nvcr.io/nvidia/pytorch:99.01-py3 not found",
        "nvidia/cuda:12.6.0-base-debian12 not found",
        "0000:01:00.0 is held by nouveau since 12:30:55",
        "torch/cuda/__init__.py:174: libcuda.so.1: cannot open shared object file",
        "https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64",
        "2026-02-24 16:46:52.066807: I tensorflow/core/util/port.cc:153] oneDNN",
    ],
)
def test_what_everybody_knows_stays(text: str) -> None:
    assert places(text) == text


def test_a_redacted_host_names_no_folder_of_a_home() -> None:
    host = Host(
        toolkits=(Tool(name="cuda", version="12.9.1", path="/home/ophelia/merger/cuda-12.9"),),
        env=Pairs({"LD_LIBRARY_PATH": "/home/ophelia/merger/lib:/usr/local/cuda/lib64"}),
        configs=(Config(path="/home/ophelia/.config/docker/daemon.json"),),
        probes=(Probe(name="x", ok=False, says="Get https://corp7.example/x: no such host"),),
    )
    plain = redact(host)
    text = dump(plain).decode()
    assert not any(word in text for word in ("ophelia", "merger", "corp7"))
    assert plain.toolkits[0].path == "~/x/cuda-12.9"
    assert plain.env.get("LD_LIBRARY_PATH") == "~/x/lib:/usr/local/cuda/lib64"
    assert redact(plain) == plain
