"""An image is certified, signed and attached on a real engine, and verified from its registry.

The image is made here, of Debian and this machine's own libcudart; the registry is a real one.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from envbuild.engines.base import Engine
from envbuild.io import oci
from envbuild.io.net import Net
from tests import toolkit
from tests.integration.certifying import RUNTIME, Make
from tests.integration.command import CLI, ROOT

pytestmark = [pytest.mark.engine, toolkit.needed]
POLICY = ("--require", "toolchain")


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """Two pairs of keys, as openssl makes them."""
    for name in ("mine", "other"):
        key, public = tmp_path / f"{name}.pem", tmp_path / f"{name}.pub"
        make = ("openssl", "genpkey", "-algorithm", "ed25519", "-out", str(key))
        subprocess.run(make, check=True)
        show = ("openssl", "pkey", "-in", str(key), "-pubout", "-out", str(public))
        subprocess.run(show, check=True)
    return tmp_path


def envbuild(folder: Path, *argv: str) -> "subprocess.CompletedProcess[str]":
    own = {k: v for k, v in os.environ.items() if not k.startswith("ENVBUILD_")}
    return subprocess.run(
        [sys.executable, *CLI[1:], *argv],
        cwd=folder,
        env=own | {"PYTHONPATH": ROOT},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("engine", ["docker", "podman"], indirect=True)
def test_from_one_machine_to_another(engine: Engine, make: Make, registry: str, keys: Path) -> None:
    built = make(RUNTIME, libcudart__so__13=toolkit.CUDART.read_bytes())
    name = f"{registry}/envbuild-test/verify-{os.urandom(4).hex()}"
    pushed = engine.push(built.ref, f"{name}:1", Net())
    pinned = f"{name}@{pushed.manifest}"

    bare = envbuild(keys, "verify", pinned, "--key", "mine.pub", *POLICY)
    assert bare.returncode == 7, bare.stderr
    assert "there is no certificate" in bare.stdout

    for key in ("mine", "other"):
        sign = ("--sign", f"{key}.pem", "--attach", "--engine", engine.name)
        done = envbuild(keys, "certify", pinned, *POLICY, *sign, "-o", f"{key}.json")
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"attached  2 statements to {pushed.manifest}" in done.stderr

    found = envbuild(keys, "verify", pinned, "--key", "mine.pub", *POLICY)
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.splitlines()[-1] == "VERIFIED  toolchain, cc of no GPU"
    assert found.stdout.count("does not count: ") == 2
    assert found.stdout.count("  counts") == 2

    # Its tag, its file alone, and what is asked beyond.
    assert envbuild(keys, "verify", f"{name}:1", "--key", "mine.pub", *POLICY).returncode == 0
    file = ("verify", "mine.intoto.jsonl", "--key", "mine.pub", *POLICY)
    assert envbuild(keys, *file).returncode == 0
    both = envbuild(keys, "verify", pinned, "other.intoto.jsonl", "--key", "mine.pub", *POLICY)
    assert both.returncode == 7
    smoke = envbuild(keys, "verify", pinned, "--key", "mine.pub")
    assert smoke.returncode == 7
    assert "suite smoke did not run" in smoke.stdout
    shown = envbuild(keys, "verify", pinned, "--key", "mine.pub", *POLICY, "--show", "certificates")
    (certificate,) = json.loads(shown.stdout)
    assert certificate == json.loads((keys / "mine.json").read_bytes())

    # Another image of the same name has no certificate, and this one's file is not about it.
    other = make(RUNTIME.replace("{more}", "RUN echo other > /other\n"),
                 libcudart__so__13=toolkit.CUDART.read_bytes())  # fmt: skip
    engine.push(other.ref, f"{name}:1", Net())
    moved = envbuild(keys, "verify", f"{name}:1", "--key", "mine.pub", *POLICY)
    assert moved.returncode == 7
    moved_file = ("verify", f"{name}:1", "mine.intoto.jsonl", "--key", "mine.pub", *POLICY)
    assert "it is about" in envbuild(keys, *moved_file).stdout
    assert oci.resolve(f"{name}:1", "linux/amd64", Net()).digest != pushed.manifest


# The others know digests of what was never pushed.
@pytest.mark.parametrize("engine", ["docker"], indirect=True)
def test_what_is_not_pushed_is_signed_and_not_attached(
    engine: Engine, make: Make, keys: Path
) -> None:
    image = make(RUNTIME, libcudart__so__13=toolkit.CUDART.read_bytes())
    assert image.manifest is None
    words = ("certify", image.ref, *POLICY, "--engine", engine.name, "-o", "c.json")
    refused = envbuild(keys, *words, "--sign", "mine.pem", "--attach")
    assert refused.returncode == 4, refused.stderr
    assert not (keys / "c.json").exists()
    assert envbuild(keys, *words, "--sign", "mine.pem").returncode == 0
    file = ("verify", image.config, "c.intoto.jsonl", "--key", "mine.pub", *POLICY)
    assert envbuild(keys, *file).returncode == 0
