"""Replays: observations judged again, with another host or another image in their place."""

import json
from pathlib import Path

import pytest

from envbuild.certify import image
from envbuild.certify.replay import replay
from envbuild.certify.run import state
from envbuild.certify.seen import Seen
from envbuild.cli.app import run as command
from envbuild.matrix.load import load as matrices
from envbuild.values.codec import Pairs, dump, load, replace
from envbuild.values.host import Gpu, Host, Tool
from envbuild.values.image import ImageFacts, Resolved

FOLDER = Path(__file__).with_name("recorded")
PODMAN = FOLDER / "h200-podman.seen.json"
NOTHING_ELSE = {"host": None, "facts": None, "plan": None, "lock": None}


def recorded(path: Path) -> Seen:
    return load(Seen, path.read_bytes(), path.name)


def again(seen: Seen, require: str = "smoke", **others: object) -> Seen:
    given = {**NOTHING_ELSE, **others}
    return replay(seen, require=(require,), matrices=matrices(), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.seen.json")), ids=lambda path: path.stem)
def test_the_facts_of_a_recorded_image_change_nothing(path: Path) -> None:
    """Told in the probes' words and read again, they are the same facts and the same verdict."""
    seen = recorded(path)
    first = image.image_facts(seen)
    now = again(seen, facts=first)
    assert replace(image.image_facts(now), compilers=()) == replace(first, compilers=())

    def verdicts(one: Seen) -> dict[str, str]:
        suites = state(one, ("smoke",)).suites
        return {suite.name: suite.verdict for suite in suites if suite.name in seen.asked}

    assert verdicts(now) == verdicts(seen)
    assert state(now, ("smoke",)).exit == 0


def test_a_driver_in_the_image_fails_it() -> None:
    baked = "/usr/lib/x86_64-linux-gnu/libcuda.so.565.57.01"
    seen = recorded(PODMAN)
    baking = replace(
        image.image_facts(seen),
        resolves=(Resolved(name="libcuda.so.1", path=baked),),
        drivers=(baked,),
    )
    found = state(again(seen, "toolchain", facts=baking), ("toolchain",), replayed=True)
    check = next(c for s in found.suites for c in s.checks if c.id == "toolchain.no-driver")
    assert (found.exit, check.verdict, check.blame) == (6, "fail", "image")
    assert baked in check.reason


def test_another_host_is_another_choice() -> None:
    none = again(recorded(PODMAN), host=Host(kind="made"))
    assert none.choice.reason == "there is no NVIDIA GPU here"
    pascal = Host(kind="made", gpus=(Gpu(name="GTX 1080 Ti", cc="6.1", source="made"),))
    assert "cc 6.1" in again(recorded(PODMAN), host=pascal).choice.reason
    assert state(none, ("smoke",)).exit == 4


def test_a_newer_compiler_than_the_toolkit_takes() -> None:
    tools = (
        Tool(name="nvcc", version="12.4.131", path="/usr/local/cuda/bin/nvcc"),
        Tool(name="gcc", version="15.1"),
    )
    seen = recorded(FOLDER / "h200-local.seen.json")
    now = again(seen, "toolchain", facts=replace(image.image_facts(seen), compilers=tools))
    check = next(
        c for s in state(now, ("toolchain",)).suites for c in s.checks if c.id == "toolchain.pair"
    )
    assert (check.verdict, check.blame) == ("fail", "image")
    assert now.ceiling is not None
    assert now.ceiling.cuda == "12.4"


def test_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts_file, host_file = tmp_path / "image.json", tmp_path / "host.json"
    facts_file.write_bytes(dump(image.image_facts(recorded(PODMAN))))
    host_file.write_bytes(dump(Host(kind="made")))
    argv = ["certify", "--observed", str(PODMAN)]
    assert command([*argv, "--image-facts", str(facts_file), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["recorded"], answer["verdict"]) == ("replayed", "pass")
    assert command([*argv, "--host", str(host_file)]) == 4
    out = capsys.readouterr().out
    assert "no NVIDIA GPU" in out
    assert "REPLAYED, no certificate" in out
    assert "CERTIFIED" not in out


def test_what_makes_no_sense_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    host = tmp_path / "host.json"
    host.write_bytes(dump(Host(kind="made")))
    odd = tmp_path / "odd.json"
    odd.write_bytes(dump(ImageFacts(ref="x", resolves=(Resolved(name="y", version="new"),))))
    for argv in (
        ("--host", str(host)),
        ("--observed", str(tmp_path / "none.json")),
        ("--observed", str(host)),
        ("--observed", str(PODMAN), "--host", str(PODMAN)),
        ("--observed", str(PODMAN), "--image-facts", str(odd)),
        ("--observed", str(PODMAN), "--require", "swift"),
        ("--observed", str(PODMAN), "--require", ""),
        ("--require", " , "),
        ("--observed", str(PODMAN), "made/other:1"),
        ("--observed", str(PODMAN), "--engine", "docker"),
        ("--observed", str(PODMAN), "--cc", "6.1"),
        ("--observed", str(PODMAN), "--faults"),
        ("--observed", str(PODMAN), "--record", str(tmp_path / "again.json")),
    ):
        assert command(["certify", *argv]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert "fix" in err or "do" in err


def test_a_lock_is_compared_with_other_facts() -> None:
    seen = recorded(PODMAN)
    seen = replace(seen, terms=replace(seen.terms, wheels=Pairs({"torch": "2.8.0+cu126"})))
    said = ImageFacts(ref="made", python="3.12.3", packages=Pairs({"torch": "2.9.1+cu128"}))
    found = state(again(seen, "toolchain", facts=said), ("toolchain",))
    check = next(c for s in found.suites for c in s.checks if c.id == "toolchain.lock-drift")
    assert (check.verdict, check.blame) == ("fail", "image")
    assert "2.8.0+cu126" in check.reason
