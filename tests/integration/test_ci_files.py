"""The CI files do what they say: their own commands, run with a real engine and registry.

What a CI service would fill in (`inputs`, its variables) is filled in here; no service runs here.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import toolkit
from tests.integration.certifying import RUNTIME
from tests.integration.command import ROOT

ACTION = yaml.safe_load(Path(ROOT, "ci", "action.yml").read_text())
GITLAB = yaml.safe_load(Path(ROOT, "ci", "gitlab.yml").read_text())
CHECK = (sys.executable, "-m", "check_jsonschema", "--builtin-schema")
INPUT = re.compile(r"\$\{\{ inputs\.([a-z-]+) \}\}")


@pytest.mark.parametrize(
    ("file", "schema"), [("action.yml", "github-actions"), ("gitlab.yml", "gitlab-ci")]
)
def test_each_is_of_its_service_s_form(file: str, schema: str, tmp_path: Path) -> None:
    path = Path(ROOT, "ci", file)
    assert subprocess.run((*CHECK, f"vendor.{schema}", str(path)), check=False).returncode == 0
    bad = tmp_path / file
    spoilt = path.read_text().replace("  script:", "  skript:").replace("using:", "use:")
    bad.write_text(spoilt)
    assert subprocess.run((*CHECK, f"vendor.{schema}", str(bad)), check=False).returncode == 1


def scripts() -> Iterator[str]:
    yield from (step["run"] for step in ACTION["runs"]["steps"] if "run" in step)
    job = GITLAB["envbuild"]
    yield "\n".join((*job["before_script"], *job["script"]))


def test_their_shell_is_clean(tmp_path: Path) -> None:
    for number, script in enumerate(scripts()):
        # An input is a variable of the shell, never a part of its text.
        assert "${{" not in script
        file = tmp_path / f"{number}.sh"
        file.write_text(f"#!/bin/bash\nset -euo pipefail\n{script}\n")
        # What the service sets is not assigned here.
        argv = ("shellcheck", "--exclude=SC2154", str(file))
        assert subprocess.run(argv, check=False).returncode == 0


def test_actions_are_pinned() -> None:
    used = [step["uses"] for step in ACTION["runs"]["steps"] if "uses" in step]
    assert used
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", one) for one in used)


@pytest.fixture
def project(tmp_path: Path, base: str) -> Path:
    """A project: a context that builds at once, and a pair of keys."""
    context = tmp_path / "context"
    context.mkdir()
    (context / "Dockerfile").write_text(RUNTIME.format(base=base, more=""))
    (context / "libcudart.so.13").write_bytes(toolkit.CUDART.read_bytes())
    make = ("openssl", "genpkey", "-algorithm", "ed25519", "-out", "key.pem")
    subprocess.run(make, cwd=tmp_path, check=True)
    show = ("openssl", "pkey", "-in", "key.pem", "-pubout", "-out", "key.pub")
    subprocess.run(show, cwd=tmp_path, check=True)
    return tmp_path


def bash(
    project: Path, script: str, variables: dict[str, str]
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ("bash", "-euo", "pipefail", "-c", script),
        cwd=project,
        env=variables,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def variables(project: Path, registry: str, docker: str) -> dict[str, str]:
    """What a runner has: this machine's docker and the tool, and no settings of ours."""
    tools = project / "tools"
    tools.mkdir()
    (tools / "docker").symlink_to(docker)
    own = {k: v for k, v in os.environ.items() if not k.startswith(("ENVBUILD_", "DOCKER_"))}
    return own | {
        "PATH": f"{tools}:{own['PATH']}",
        "ENVBUILD_REGISTRY_MIRROR": registry,
        "PYTHONPATH": ROOT,
    }


@pytest.mark.engine
@toolkit.needed
@pytest.mark.parametrize("require", ["toolchain", "smoke"])
def test_the_action(project: Path, registry: str, old_docker: str, require: str) -> None:
    """``toolchain`` passes without a GPU; ``smoke`` needs one, and then nothing is verified."""
    image = f"{registry}/envbuild-test/action-{os.urandom(4).hex()}:1"
    given = {
        "request": "context",
        "image": image,
        "require": require,
        "key": (project / "key.pem").read_text(),
        "public-key": "key.pub",
    }
    shared = variables(project, registry, old_docker)
    for name in ("GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY"):
        (project / name).touch()
        shared[name] = str(project / name)
    shared |= {"RUNNER_TEMP": str(project), "GITHUB_ACTION_PATH": f"{ROOT}/ci"}
    codes: dict[str, int] = {}
    said = ""
    for step in ACTION["runs"]["steps"]:
        if "run" not in step:
            continue
        more = {k: INPUT.sub(lambda m: given[m[1]], v) for k, v in step.get("env", {}).items()}
        added = (project / "GITHUB_PATH").read_text().split()
        shared["PATH"] = ":".join((*added, shared["PATH"])) if added else shared["PATH"]
        done = bash(project, step["run"], shared | more)
        codes[step["name"]] = done.returncode
        said += done.stdout + done.stderr
        if step["name"] in {"Install", "Build"}:
            assert done.returncode == 0, done.stderr
    assert codes["Certify"] == (0 if require == "toolchain" else 4), said
    assert codes["Verify"] == (0 if require == "toolchain" else 7), said
    assert "toolchain" in (project / "GITHUB_STEP_SUMMARY").read_text()
    assert (project / "envbuild-junit.xml").read_text().startswith("<?xml")
    assert not (project / "envbuild.pem").exists()
    output = (project / "GITHUB_OUTPUT").read_text().partition("=")[2].strip()
    assert Path(output).is_file()


@pytest.mark.engine
@toolkit.needed
def test_the_gitlab_job(project: Path, registry: str, old_docker: str) -> None:
    given: dict[str, Any] = GITLAB["variables"] | {
        "ENVBUILD_REQUEST": "context",
        "ENVBUILD_REQUIRE": "toolchain",
        "ENVBUILD_IMAGE": f"{registry}/envbuild-test/gitlab-{os.urandom(4).hex()}:1",
        "ENVBUILD_KEY": "key.pem",
        "ENVBUILD_PUBLIC_KEY": "key.pub",
    }
    shared = variables(project, registry, old_docker) | given
    tool = project / "tools" / "envbuild"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m envbuild "$@"\n')
    tool.chmod(0o755)
    # Only the tool itself comes from elsewhere than its before_script would have it.
    done = bash(project, "\n".join(GITLAB["envbuild"]["script"]), shared)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "VERIFIED  toolchain" in done.stdout
    artifacts = GITLAB["envbuild"]["artifacts"]
    for name in (*artifacts["paths"], artifacts["reports"]["junit"]):
        assert (project / name).is_file(), name
