"""A plan from a file, a folder, envbuild.yaml or flags: one meaning, and what can be wrong."""

from pathlib import Path

import pytest

from envbuild.cli.options import RequestFlags
from envbuild.cli.source import plan_from
from envbuild.errors import InputError, NoPlanError
from envbuild.values.codec import dump, replace
from envbuild.values.finding import Finding
from tests.render import plans

FLAGS = RequestFlags(cc=["9.0"], toolkit_source="wheels", base_os="debian12")


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "envbuild.yaml"
    path.write_text(text)
    return str(path)


def test_flags_and_yaml_mean_the_same(tmp_path: Path) -> None:
    text = "cc: 9.0\ntoolkit-source: wheels\nbase_os: debian12\n"
    assert plan_from(written(tmp_path, text), RequestFlags()) == plan_from(None, FLAGS)


def test_flags_win_over_yaml(tmp_path: Path) -> None:
    path = written(tmp_path, "cc: [6.1, 8.6]\ntoolkit-source: wheels\nbase-os: debian12\n")
    assert plan_from(path, RequestFlags(cc=["9.0"])).cc == ("9.0",)


def test_yaml_versions_stay_text(tmp_path: Path) -> None:
    plan = plan_from(written(tmp_path, "cc: 8.6\ntorch: 2.10\n"), RequestFlags())
    assert [(w.name, w.range) for w in plan.request.packages] == [("torch", "==2.10")]


@pytest.mark.parametrize("name", ["plan.json", ""])
def test_a_plan_file_or_its_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "plan.json").write_bytes(dump(plans.WHEELS))
    assert plan_from(str(tmp_path / name), RequestFlags()) == plans.WHEELS


def test_a_plan_and_flags_are_too_much(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(dump(plans.WHEELS))
    with pytest.raises(InputError, match="finished plan"):
        plan_from(str(tmp_path), RequestFlags(cc=["9.0"]))


def test_a_refused_plan_is_exit_3(tmp_path: Path) -> None:
    error = Finding(id="conflict", severity="error", says="nothing has both")
    refused = replace(plans.WHEELS, outcome="refuse", findings=(error,))
    (tmp_path / "plan.json").write_bytes(dump(refused))
    with pytest.raises(NoPlanError, match="nothing has both"):
        plan_from(str(tmp_path), RequestFlags())


def test_several_images_are_not_one() -> None:
    with pytest.raises(InputError, match="takes 2 images"):
        plan_from(None, RequestFlags(cc=["3.5", "12.0"], split=True))


@pytest.mark.parametrize(
    ("text", "says", "fix"),
    [
        ("cc: 9.0\ntoolkit-sorce: wheels\n", ":2 has the unknown key", "toolkit-source"),
        ("cc: 9.0\ncc: 6.1\n", ":2 has 'cc' twice", "keep one"),
        ("cc:\n  nested: 1\n", ":2 needs a value or a list", "--help"),
        ("torch: [2.8, 2.9]\n", ":1 needs one value", "--help"),
        ("cuda:\n", ":1 needs one value", "--help"),
        ("split: maybe\n", ":1 needs true or false", "true or false"),
        ("- cc\n", ":1 is not a table", "flag: value"),
        ("cc: [9.0\n", ":2 is not YAML", "flag: value"),
        ("[a, b]: 9.0\n", ":1 has a key that is no name", "flag: value"),
        ("cc: " + "[" * 5000, "nested too deeply", "flag: value"),
        ("cc: 9.0\ncuda: banana\n", "envbuild.yaml: ", "12.6"),
        ("cc: 9.0\nflavour: huge\n", "'huge' is not known", "base, runtime, devel"),
    ],
)
def test_what_is_wrong_and_where(tmp_path: Path, text: str, says: str, fix: str) -> None:
    with pytest.raises(InputError) as error:
        plan_from(written(tmp_path, text), RequestFlags())
    assert says in str(error.value)
    assert fix in error.value.fix


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'{"schema":', "line 1"),
        (b'{"schema": "x"}', "not a plan"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "p.json"),
        (b'{"cc": ' + b"[" * 100_000, "p.json"),
        (b'{"zzz": ' + b"[" * 100_000, "p.json"),
    ],
)
def test_a_file_that_is_no_plan(tmp_path: Path, data: bytes, says: str) -> None:
    (tmp_path / "p.json").write_bytes(data)
    with pytest.raises(InputError) as error:
        plan_from(str(tmp_path / "p.json"), RequestFlags())
    assert says in str(error.value)


def test_a_refusal_that_says_nothing_is_no_plan(tmp_path: Path) -> None:
    mute = replace(plans.WHEELS, outcome="refuse", findings=())
    (tmp_path / "p.json").write_bytes(dump(mute))
    with pytest.raises(InputError, match="does not say why"):
        plan_from(str(tmp_path / "p.json"), RequestFlags())


def test_no_such_file() -> None:
    with pytest.raises(InputError, match="cannot be read"):
        plan_from("nowhere.json", RequestFlags())
