"""The published schemas: current, and in agreement with what is written and read."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from envbuild.errors import InputError
from envbuild.values import codec
from envbuild.values.certificate import Certificate, Subject
from envbuild.values.codec import Pairs
from envbuild.values.finding import Finding, Step
from envbuild.values.host import Gpu, Host, Probe
from envbuild.values.image import BuildContext, File, Image
from envbuild.values.lock import Lock, Wheel
from envbuild.values.plan import Fleet, FleetEntry, MatrixId, Plan
from envbuild.values.request import Request, Wish

ROOT = Path(__file__).resolve().parents[2]
MATRIX = MatrixId(date="2026-12-01", digest="sha256:0")
PLAN = Plan(
    outcome="warn",
    cc=("6.1",),
    env=Pairs({"CUDAARCHS": "61"}),
    findings=(Finding(id="x", severity="warn", says="y", steps=(Step(why="z", argv=("a",)),)),),
    matrix=MATRIX,
)
EXAMPLES: dict[str, Any] = {
    "request": Request(cc=("6.1",), packages=(Wish(name="torch", range="==2.10"),)),
    "host": Host(gpus=(Gpu(cc="6.1"),), probes=(Probe(name="nvml", ok=False),)),
    "plan": PLAN,
    "fleet": Fleet(outcome="ok", entries=(FleetEntry(nodes=("6.1",), plan=PLAN),), matrix=MATRIX),
    "lock": Lock(
        tool="0",
        plan="sha256:0",
        matrix=MATRIX,
        platform="linux/amd64",
        wheels=(Wheel(name="a", version="1", file="a.whl", sha256="0", index="pypi"),),
    ),
    "context": BuildContext(files=(File(path="a", data=b"\0"),), platform="linux/amd64"),
    "image": Image(ref="a", config="sha256:0", platform="linux/amd64", env=Pairs({"A": "b"})),
    "certificate": Certificate(
        verdict="pass",
        exit=0,
        subject=Subject(kind="config", name="a"),
        started="t",
        finished="t",
        tool="0",
        matrix=MATRIX,
    ),
}


def schema(name: str) -> dict[str, Any]:
    text = (ROOT / "envbuild" / "schemas" / f"{name}.json").read_text(encoding="utf-8")
    whole: dict[str, Any] = json.loads(text)
    return whole


def test_the_files_are_current() -> None:
    argv = [sys.executable, str(ROOT / "script" / "make-schemas"), "--check"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run script/make-schemas: {done.stdout}"


def test_each_file_is_a_schema() -> None:
    files = sorted((ROOT / "envbuild" / "schemas").glob("*.json"))
    assert {path.stem for path in files} >= EXAMPLES.keys()
    for path in files:
        jsonschema.Draft202012Validator.check_schema(schema(path.stem))


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_written_meets_its_schema_and_a_wrong_word_does_not(name: str) -> None:
    validator = jsonschema.Draft202012Validator(schema(name))
    data = json.loads(codec.dump(EXAMPLES[name]))
    validator.validate(data)
    for spoiled in ({**data, "schema": "envbuild/other/1"}, {**data, "unknown": 1}):
        assert not validator.is_valid(spoiled)
        # Our own reader refuses what the schema refuses.
        with pytest.raises(InputError):
            codec.load(type(EXAMPLES[name]), json.dumps(spoiled).encode(), name)


def test_recorded_hosts_meet_the_schema() -> None:
    validator = jsonschema.Draft202012Validator(schema("host"))
    recorded = sorted((ROOT / "tests" / "hosts").glob("*.json"))
    assert recorded
    for path in recorded:
        validator.validate(json.loads(path.read_text(encoding="utf-8")))
