"""One certificate a node: what is missing is named, and one GPU does not speak for two nodes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuild.attest import verify
from envbuild.attest.nodes import Proved, files_in, names, node_of, uncovered
from envbuild.attest.policy import Policy
from envbuild.attest.verify import About, Found
from envbuild.cli.app import run
from envbuild.errors import InputError
from envbuild.values.certificate import Certificate, Device
from envbuild.values.codec import dump, replace
from envbuild.values.verification import Verification
from tests.attest.made import KEY, MANIFEST, certificate, signed
from tests.attest.test_verify import NOW

A, B = Proved("x/a.json", "GPU-1"), Proved("b.cluster.intoto.jsonl", "GPU-2")


def on(uuid: str, **more: object) -> Certificate:
    return replace(certificate(), device=Device(name="made", uuid=uuid, cc="9.0"), **more)


def test_each_node_has_its_own() -> None:
    assert not list(uncovered([A, B], ("a", "b.cluster")))
    assert list(uncovered([A, B], ("a", "b", "c"))) == [
        "no certificate that counts is from node b, c"
    ]


def test_one_gpu_is_not_two_nodes() -> None:
    [reason] = uncovered([A, A._replace(file="b.json")], ("a", "b"))
    assert reason == "a and b show one GPU, GPU-1: one of them is not its own"


def test_a_suite_without_a_gpu_shows_none() -> None:
    assert not list(uncovered([Proved("a.json", ""), Proved("b.json", "")], ("a", "b")))


def test_many_missing_are_counted() -> None:
    [reason] = uncovered([], [f"n{i}" for i in range(1000)])
    assert reason.endswith("n19 and 980 more")


@given(st.from_regex(r"[A-Za-z0-9.-]{1,60}", fullmatch=True))
def test_a_file_is_of_the_node_that_it_is_called_by(node: str) -> None:
    assert node_of(f"certificates/x/{node}.json") == node
    assert node_of(f"{node}.intoto.jsonl") == node


@pytest.mark.parametrize("text", ["", "\n \n", "a\na\n", "a\n a \n"])
def test_a_list_that_is_none(text: str) -> None:
    with pytest.raises(InputError, match="names"):
        names(text, "x.nodes")


def test_in_a_folder_what_is_signed_stands_for_the_rest(tmp_path: Path) -> None:
    for name in ("a.json", "a.intoto.jsonl", "b.json", "notes.txt", ".b.json.new"):
        (tmp_path / name).touch()
    assert [p.name for p in files_in(tmp_path)] == ["a.intoto.jsonl", "b.json"]
    with pytest.raises(InputError, match="holds no certificate"):
        files_in(tmp_path / "none")


def answer(*nodes: str, **files: Certificate) -> Verification:
    found = [
        Found(name, signed(made).data, named=True, file=f"{name}.intoto.jsonl")
        for name, made in files.items()
    ]
    about = About("registry.example/app:1", (MANIFEST,))
    read = [verify.read(one, (KEY.public_key(),), about) for one in found]
    return verify.verify(read, about=about, policy=Policy(), now=NOW, of_nodes=nodes)


def test_a_certificate_that_does_not_count_covers_no_node() -> None:
    good, bad = on("GPU-1"), on("GPU-2", exit=4, verdict="fail")
    assert answer("a", "b", a=good, b=on("GPU-2")).passed
    found = answer("a", "b", a=good, b=bad)
    assert "no certificate that counts is from node b" in found.reasons
    assert any(reason.startswith("b: ") for reason in found.reasons)


def test_the_command_names_the_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, listed = tmp_path / "certificates", tmp_path / "app.nodes"
    folder.mkdir()
    for i, node in enumerate(("gpu1", "gpu2.cluster")):
        (folder / f"{node}.json").write_bytes(dump(on(f"GPU-{i}")))
    argv = ["verify", str(folder), "--unsigned", "--nodes", str(listed)]
    listed.write_text("gpu1\ngpu2.cluster\n")
    assert run(argv) == 0
    listed.write_text("gpu1\ngpu2.cluster\ngpu3\n")
    assert run(argv) == 7
    assert "no certificate that counts is from node gpu3" in capsys.readouterr().out
    (folder / "gpu3.json").write_bytes(dump(on("GPU-0")))
    assert run(argv) == 7
    assert "gpu1 and gpu3 show one GPU" in capsys.readouterr().out


@pytest.mark.parametrize("broken", ["", "{", "\0", None])
def test_a_broken_file_of_a_node_hides_no_other(
    broken: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """None: a link that leads nowhere."""
    (tmp_path / "nodes").write_text("a\nb\n")
    (folder := tmp_path / "certificates").mkdir()
    (folder / "a.json").write_bytes(dump(on("GPU-1")))
    bad = folder / "b.json"
    bad.symlink_to("/nowhere") if broken is None else bad.write_text(broken)
    argv = ["verify", str(folder), "--unsigned", "--nodes", str(tmp_path / "nodes")]
    assert run(argv) == 7
    said = capsys.readouterr().out
    assert "no certificate that counts is from node b\n" in said
    assert f"reason    {bad}" in said
    assert "a.json  certificate:1  cc 9.0  not signed  counts" in said
