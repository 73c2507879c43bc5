"""Runs what a case is given, through the command line, and gives what is graded."""

import json
from pathlib import Path

import pytest

from envbuild import __version__
from envbuild.certify import probes
from envbuild.cli.app import run
from envbuild.render import templates
from envbuild.values.codec import Pairs, digest, dump, load
from envbuild.values.lock import Lock, LockedBase, Wheel
from envbuild.values.plan import Plan
from tests.cases.grade import Answer, flags

Cap = pytest.CaptureFixture[str]


def planned(args: list[str], capfd: Cap) -> Answer:
    """The answer of ``envbuild plan`` to these flags."""
    code = run(["plan", "--json", *args])
    out, err = capfd.readouterr()
    assert out, err
    return Answer(json.loads(out), code)


def rendered(given: dict[str, object], folder: Path, capfd: Cap) -> Answer:
    """The answer of ``envbuild render``: the plan, and every file of the folder that it wrote."""
    answer = planned(flags(given), capfd)
    lock = ["--no-lock"]
    if given.get("locked"):
        path = folder.with_suffix(".lock")
        path.write_bytes(dump(made_lock(load(Plan, json.dumps(answer.plan).encode(), "plan"))))
        lock = ["--lock", str(path)]
    code = run(["render", *lock, "-o", str(folder), *flags(given)])
    assert code == answer.code, capfd.readouterr().err
    capfd.readouterr()
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return answer._replace(files={str(p.relative_to(folder)): p.read_text() for p in paths})


def made_lock(plan: Plan) -> Lock:
    """A lock, *made*: neither the vendors' registry nor their index is to be had where tests run.

    Digests are of nothing; the wheels are torch's own, and one that it brings along.
    """
    platform = "linux/amd64"
    wheels: list[Wheel] = []
    urls = Pairs()
    if plan.torch is not None:
        if plan.torch.index_url is not None:
            urls = Pairs({plan.torch.index: plan.torch.index_url})
        index, build = plan.torch.index, f"{plan.torch.version}+{plan.torch.index}"
        for name, version, tag, where in (
            ("nvidia-cudnn-cu12", "9.10.2.21", "py3-none-manylinux_2_27_x86_64", "pypi"),
            ("torch", build, "cp312-cp312-manylinux_2_28_x86_64", index),
        ):
            file = f"{name.replace('-', '_')}-{version}-{tag}.whl"
            wheels.append(
                Wheel(name=name, version=version, file=file, sha256="d" * 64, index=where)
            )
    return Lock(
        tool=__version__,
        plan=digest(plan),
        matrix=plan.matrix,
        platform=platform,
        base=LockedBase(ref=plan.image.ref or "", digest=f"sha256:{'a' * 64}", platform=platform),
        python=plan.python,
        wheels=tuple(wheels),
        index_urls=urls,
        templates=templates.hashes(),
        probes=probes.hashes(),
    )
