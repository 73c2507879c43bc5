"""One certificate a node: what is missing is named, and one GPU does not speak for two nodes."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuild.attest import dsse, statement, verify
from envbuild.attest.nodes import Proved, files_in, named, names, uncovered
from envbuild.attest.policy import Policy
from envbuild.attest.verify import About, Found
from envbuild.cli.app import run
from envbuild.errors import InputError
from envbuild.values.certificate import Certificate
from envbuild.values.codec import dump, dump_line, replace
from envbuild.values.verification import Verification
from tests.attest.made import ABOUT, KEY, MANIFEST, certificate, of_gpu, signed
from tests.attest.test_verify import NOW

A, B = Proved("a", "GPU-1"), Proved("b.cluster", "GPU-2")


def on(uuid: str, node: str | None, **more: object) -> Certificate:
    return replace(of_gpu("9.0", uuid, node=node), **more)


def test_each_node_has_its_own() -> None:
    assert not list(uncovered([A, B], ("a", "b.cluster")))
    assert list(uncovered([A, B], ("a", "b", "c"))) == [
        "no certificate that counts is from node b, c"
    ]


def test_one_gpu_is_not_two_nodes() -> None:
    [reason] = uncovered([A, A._replace(node="b")], ("a", "b"))
    assert reason == "a and b show one GPU, GPU-1: one of them is not its own"


def test_a_suite_without_a_gpu_shows_none() -> None:
    assert not list(uncovered([Proved("a", ""), Proved("b", "")], ("a", "b")))


def test_many_missing_are_counted() -> None:
    [reason] = uncovered([], [f"n{i}" for i in range(1000)])
    assert reason.endswith("n19 and 980 more")


@given(st.from_regex(r"[A-Za-z0-9.-]{1,60}", fullmatch=True))
def test_a_name_is_taken_as_it_is(node: str) -> None:
    assert named(node) == node
    assert named("") is None
    for bad in (f"{node} ", f"{node}\nb", f"\x1b[2J{node}", node * 254):
        with pytest.raises(InputError, match="is no name of a machine"):
            named(bad)


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
    found = [Found(f"{name}.json", signed(made).data, named=True) for name, made in files.items()]
    about = About("registry.example/app:1", (MANIFEST,))
    read = [verify.read(one, (KEY.public_key(),), about) for one in found]
    return verify.verify(read, about=about, policy=Policy(), now=NOW, of_nodes=nodes)


def test_a_certificate_that_does_not_count_covers_no_node() -> None:
    good, bad = on("GPU-1", "a"), on("GPU-2", "b", exit=4, verdict="fail")
    assert answer("a", "b", x=good, y=on("GPU-2", "b")).passed
    found = answer("a", "b", x=good, y=bad)
    assert "no certificate that counts is from node b" in found.reasons
    assert any(reason.startswith("y.json: ") for reason in found.reasons)


def test_the_signed_name_counts_and_the_file_s_does_not() -> None:
    found = answer("a", "b", a=on("GPU-1", "a"), b=on("GPU-2", "a"))
    assert found.reasons == ("no certificate that counts is from node b",)
    assert [one.node for one in found.evidence] == ["a", "a"]


def test_what_nodes_attached_is_collected_from_the_registry() -> None:
    found = [signed(on("GPU-1", "a")), signed(on("GPU-2", "b"))]
    read = [verify.read(one, (KEY.public_key(),), ABOUT) for one in found]
    for nodes, passed in ((("a", "b"), True), (("a", "b", "c"), False)):
        made = verify.verify(read, about=ABOUT, policy=Policy(), now=NOW, of_nodes=nodes)
        assert made.passed is passed


def test_one_gpu_under_two_signed_names_is_seen() -> None:
    found = answer("a", "b", x=on("GPU-1", "a"), y=on("GPU-1", "b"))
    assert found.reasons == ("a and b show one GPU, GPU-1: one of them is not its own",)


def test_what_an_older_release_wrote_is_verified_and_is_of_no_node() -> None:
    made = json.loads(dump_line(on("GPU-1", None)))
    assert made.pop("node") is None
    subject = statement.subject_of(certificate())
    said = statement.statement(*subject, statement.CERTIFICATE, json.dumps(made).encode())
    read = [verify.read(Found("x", dsse.sign(said, KEY), named=True), (KEY.public_key(),), ABOUT)]
    assert verify.verify(read, about=ABOUT, policy=Policy(), now=NOW).passed
    found = verify.verify(read, about=ABOUT, policy=Policy(), now=NOW, of_nodes=("x",))
    assert found.reasons == (
        "no certificate that counts is from node x; 1 that count name no node",
    )


def test_the_command_names_the_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, listed = tmp_path / "certificates", tmp_path / "app.nodes"
    folder.mkdir()
    for i, node in enumerate(("gpu1", "gpu2.cluster")):
        (folder / f"{i}.json").write_bytes(dump(on(f"GPU-{i}", node)))
    argv = ["verify", str(folder), "--unsigned", "--nodes", str(listed)]
    listed.write_text("gpu1\ngpu2.cluster\n")
    assert run(argv) == 0
    assert "cc 9.0  node gpu2.cluster  not signed" in capsys.readouterr().out
    listed.write_text("gpu1\ngpu2.cluster\ngpu3\n")
    assert run(argv) == 7
    assert "no certificate that counts is from node gpu3" in capsys.readouterr().out
    argv[-1] = "gpu1,gpu2.cluster"
    assert run(argv) == 0
    argv[-1] = "gpu1,"
    assert run(argv) == 0
    argv[-1] = "gpu1,gpu1"
    assert run(argv) == 2
    assert "--nodes names a node twice" in capsys.readouterr().err
    argv[-1] = str(listed)
    (folder / "gpu3.json").write_bytes(dump(on("GPU-0", "gpu3")))
    assert run(argv) == 7
    assert "gpu1 and gpu3 show one GPU" in capsys.readouterr().out


@pytest.mark.parametrize("broken", ["", "{", "\0", None])
def test_a_broken_file_of_a_node_hides_no_other(
    broken: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """None: a link that leads nowhere."""
    (tmp_path / "nodes").write_text("a\nb\n")
    (folder := tmp_path / "certificates").mkdir()
    (folder / "a.json").write_bytes(dump(on("GPU-1", "a")))
    bad = folder / "b.json"
    bad.symlink_to("/nowhere") if broken is None else bad.write_text(broken)
    argv = ["verify", str(folder), "--unsigned", "--nodes", str(tmp_path / "nodes")]
    assert run(argv) == 7
    said = capsys.readouterr().out
    assert "no certificate that counts is from node b\n" in said
    assert f"reason    {bad}" in said
    assert re.search(r"a\.json  certificate:1 .* counts\n", said)
