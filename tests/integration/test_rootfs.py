"""A folder with a whole system, certified by podman as if it were an image."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import toolkit
from tests.integration.command import envbuild

pytestmark = [pytest.mark.engine, toolkit.needed]


@pytest.fixture
def system(registry: str, tmp_path: Path) -> Path:
    """Debian as a folder, with this machine's libcudart in it."""
    blobs, folder = tmp_path / "blobs", tmp_path / "system"
    source = f"docker://{registry}/library/debian:bookworm-slim"
    argv = ["skopeo", "copy", "-q", "--src-tls-verify=false", source, f"dir:{blobs}"]
    subprocess.run(argv, check=True)
    manifest = json.loads((blobs / "manifest.json").read_text())
    folder.mkdir()
    for layer in manifest["layers"]:
        blob = blobs / layer["digest"].partition(":")[2]
        subprocess.run(["tar", "-C", folder, "-xzf", blob], check=True)
    shutil.copyfile(toolkit.CUDART, folder / "usr/lib/x86_64-linux-gnu/libcudart.so.13")
    return folder


def test_it_is_looked_at_and_not_changed(system: Path, env: dict[str, str], tmp_path: Path) -> None:
    out, seen = tmp_path / "c.json", tmp_path / "seen.json"
    argv = ["--require", "toolchain", "--cc", "9.0", "-o", str(out), "--record", str(seen)]
    argv += ["--env", "GREETING=a b;$(c)"]
    done = envbuild(env, tmp_path, "certify", "--rootfs", str(system), *argv)
    found = json.loads(out.read_text())
    checks = {check["id"]: check for suite in found["suites"] for check in suite["checks"]}
    assert done.returncode == 6, done.stderr
    assert "no compiler" in checks["toolchain.compiles"]["reason"]
    assert checks["toolchain.loader"]["verdict"] == "pass"
    assert found["subject"] == {
        "kind": "rootfs", "name": str(system), "digest": None, "diff_ids": [], "lock": None
    }  # fmt: skip
    assert json.loads(seen.read_text())["image"]["env"] == {"GREETING": "a b;$(c)"}
    assert not [path for path in system.iterdir() if path.name.startswith("envbuild")]


@pytest.mark.parametrize(
    "argv",
    [
        ("--rootfs", "/nowhere"),
        ("--rootfs", "relative"),
        ("--rootfs", "/", "image:1"),
        ("--rootfs", "/", "--engine", "docker"),
        ("--env", "A=B"),
        ("--rootfs", "/", "--env", "novalue"),
    ],
)
def test_what_makes_no_sense_is_refused(
    argv: tuple[str, ...], env: dict[str, str], tmp_path: Path
) -> None:
    done = envbuild(env, tmp_path, "certify", *argv)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
