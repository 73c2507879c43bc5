"""The CI files do what they say: their own commands, run with a real engine and registry.

What a CI service would fill in (`inputs`, its variables) is filled in here; no service runs here.
"""

import base64
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
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
INPUT = re.compile(r"\$\{\{ inputs\.([a-z-]+)( != '')? \}\}")


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


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A project that nothing is built of."""
    (tmp_path / "context").mkdir()
    (tmp_path / "context" / "Dockerfile").write_text("FROM scratch\n")
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


def filled(text: str, given: dict[str, str]) -> str:
    """What the service makes of an expression: an input, or whether there is one."""
    return INPUT.sub(lambda m: str(given[m[1]] != "").lower() if m[2] else given[m[1]], text)


class Action:
    """The action's steps as its service runs them, one after the other, in a project."""

    def __init__(self, project: Path, shared: dict[str, str], **given: str) -> None:
        defaults = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
        self.given = defaults | {name.replace("_", "-"): text for name, text in given.items()}
        self.project, self.shared = project, dict(shared)
        self.codes: dict[str, int] = {}
        self.said = ""
        for name in ("GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY"):
            (project / name).touch()
            self.shared[name] = str(project / name)
        self.shared |= {"RUNNER_TEMP": str(project), "GITHUB_ACTION_PATH": f"{ROOT}/ci"}

    def run(self, event: str = "push", *, past_failures: bool = False) -> None:
        env = self.shared | {"GITHUB_EVENT_NAME": event}
        for step in ACTION["runs"]["steps"]:
            if "run" not in step:
                continue
            more = {k: filled(v, self.given) for k, v in step.get("env", {}).items()}
            added = (self.project / "GITHUB_PATH").read_text().split()
            env["PATH"] = ":".join((*added, self.shared["PATH"]))
            done = bash(self.project, step["run"], env | more)
            self.codes[step["name"]] = done.returncode
            self.said += done.stdout + done.stderr
            if done.returncode and not past_failures:
                return


@pytest.mark.engine
@toolkit.needed
@pytest.mark.parametrize("require", ["toolchain", "smoke"])
def test_the_action(project: Path, registry: str, old_docker: str, require: str) -> None:
    """``toolchain`` passes without a GPU; ``smoke`` needs one, and then nothing is verified."""
    action = Action(
        project,
        variables(project, registry, old_docker),
        request="context",
        image=f"{registry}/envbuild-test/action-{os.urandom(4).hex()}:1",
        require=require,
        key=(project / "key.pem").read_text(),
        public_key="key.pub",
    )
    action.run(past_failures=True)
    passed = require == "toolchain"
    wanted = {"Install": 0, "Build": 0, "Certify": 0 if passed else 4, "Verify": 0 if passed else 7}
    assert action.codes == wanted, action.said
    assert "toolchain" in (project / "GITHUB_STEP_SUMMARY").read_text()
    assert (project / "envbuild-junit.xml").read_text().startswith("<?xml")
    assert not (project / "envbuild.pem").exists()
    output = (project / "GITHUB_OUTPUT").read_text().partition("=")[2].strip()
    assert Path(output).is_file()


@pytest.mark.engine
@toolkit.needed
def test_a_fork_s_pull_request_is_certified_without_secrets_and_pushes_nothing(
    project: Path, registry: str, old_docker: str
) -> None:
    name = f"envbuild-test/fork-{os.urandom(4).hex()}"
    given = {"request": "context", "image": f"{registry}/{name}:1", "require": "toolchain"}
    action = Action(project, variables(project, registry, old_docker), **given)
    action.run("pull_request")
    assert set(action.codes.values()) == {0}, action.said
    assert "::warning title=envbuild::no key" in action.said
    assert "nobody signed it" in action.said
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(f"http://{registry}/v2/{name}/tags/list", timeout=10)

    # Where secrets are to be had, a key that is not there is a mistake; and nothing old is kept.
    action.codes.clear()
    action.run("push")
    assert action.codes == {"Install": 2}
    assert "::error title=envbuild::no key signs" in action.said


@pytest.mark.parametrize("image", ["-x", "a b", "$(touch owned)", "`touch owned`", 'a"; id; "', ""])
def test_no_name_of_an_image_is_taken_for_anything_else(image: str, bare: Path) -> None:
    """A step before fails: what an earlier run left is gone, and only the report is kept then."""
    for name in ("envbuild-junit.xml", "envbuild-certificate.json"):
        (bare / name).write_text("of an earlier run")
    own = {k: v for k, v in os.environ.items() if not k.startswith(("ENVBUILD_", "DOCKER_"))}
    action = Action(bare, own | {"PYTHONPATH": ROOT}, request="context", image=image, key="k")
    action.run()
    assert list(action.codes.items()) == [("Install", 0), ("Build", 2)], action.said
    assert not list(bare.glob("envbuild-*.*"))
    assert not (bare / "owned").exists()
    later = {step["name"]: step.get("if") for step in ACTION["runs"]["steps"]}
    assert {name for name, when in later.items() if when} == {"Keep the report"}


def gitlab(
    project: Path, shared: dict[str, str], **given: str
) -> "subprocess.CompletedProcess[str]":
    """The GitLab job's own script; only the tool itself comes from elsewhere."""
    tool = project / "tools" / "envbuild"
    tool.parent.mkdir(exist_ok=True)
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m envbuild "$@"\n')
    tool.chmod(0o755)
    path = f"{tool.parent}:{shared['PATH']}"
    script = "\n".join(GITLAB["envbuild"]["script"])
    return bash(project, script, GITLAB["variables"] | shared | {"PATH": path} | given)


@pytest.mark.engine
@toolkit.needed
@pytest.mark.parametrize("fork", [False, True])
def test_the_gitlab_job(project: Path, registry: str, old_docker: str, fork: bool) -> None:
    """With a key that can be masked; and without one, in a fork's merge request."""
    key = "" if fork else base64.b64encode((project / "key.pem").read_bytes()).decode()
    given: dict[str, Any] = {
        "ENVBUILD_REQUEST": "context",
        "ENVBUILD_REQUIRE": "toolchain",
        "ENVBUILD_IMAGE": f"{registry}/envbuild-test/gitlab-{os.urandom(4).hex()}:1",
        "ENVBUILD_KEY": key,
        "ENVBUILD_PUBLIC_KEY": "key.pub",
        "CI_PIPELINE_SOURCE": "merge_request_event" if fork else "push",
        "TMPDIR": str(project / "tmp"),
    }
    (project / "tmp").mkdir()
    (project / "envbuild-certificate.intoto.jsonl").write_text("of an earlier run")
    done = gitlab(project, variables(project, registry, old_docker), **given)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "VERIFIED  toolchain" in done.stdout
    assert not list((project / "tmp").glob("tmp.*")), "no key is left"
    artifacts = GITLAB["envbuild"]["artifacts"]
    assert artifacts["when"] == "always"
    for name in (*artifacts["paths"], artifacts["reports"]["junit"]):
        signed = name.endswith(".intoto.jsonl")
        assert (project / name).is_file() == (not fork or not signed), name


def test_a_gitlab_key_is_a_file_its_text_or_its_base64(bare: Path) -> None:
    pem = b"-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n"
    (bare / "a key").write_bytes(pem)
    script = "\n".join((*GITLAB["envbuild"]["script"][:2], 'cat "$key"; ls -l "$key" >&2'))
    for text in ("a key", pem.decode().strip(), base64.b64encode(pem).decode()):
        given = {"ENVBUILD_KEY": text, "TMPDIR": str(bare), "PATH": os.environ["PATH"]}
        done = bash(bare, script, given)
        assert (done.returncode, done.stdout) == (0, pem.decode()), done.stderr
        assert text == "a key" or done.stderr.startswith("-rw------- ")
    assert not list(bare.glob("tmp.*"))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"ENVBUILD_KEY": ""}, "no key signs"),
        ({"ENVBUILD_KEY": "no/such file"}, "is no file, no PEM and no base64"),
        ({"ENVBUILD_KEY": "k", "ENVBUILD_IMAGE": "-x"}, "not an image reference"),
        ({"ENVBUILD_KEY": "k", "ENVBUILD_IMAGE": "$(touch owned)"}, "not an image reference"),
    ],
)
def test_a_gitlab_job_that_cannot_be(bare: Path, given: dict[str, str], says: str) -> None:
    (bare / "k").touch()
    own = {k: v for k, v in os.environ.items() if not k.startswith(("ENVBUILD_", "DOCKER_"))}
    more = {"PYTHONPATH": ROOT, "ENVBUILD_IMAGE": "x:1", "ENVBUILD_REQUEST": "context"}
    done = gitlab(bare, own | more, **given)
    assert done.returncode == 2, done.stdout + done.stderr
    assert says in done.stderr
    assert not (bare / "owned").exists()
