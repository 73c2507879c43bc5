"""A plan from a file, a folder, envbuild.yaml or flags: one meaning, and what can be wrong."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envbuild.cli import request_file
from envbuild.cli.app import run
from envbuild.cli.options import RequestFlags
from envbuild.cli.source import plan_from
from envbuild.errors import InputError, NoPlanError
from envbuild.values.codec import dump, replace
from envbuild.values.finding import Finding
from tests.render import plans

HOSTS = Path(__file__).parent.parent / "hosts"
FLAGS = RequestFlags(cc=["9.0"], toolkit_source="wheels", base_os="debian12")


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "envbuild.yaml"
    path.write_text(text)
    return str(path)


def test_flags_and_yaml_mean_the_same(tmp_path: Path) -> None:
    text = "cc: 9.0\ntoolkit-source: wheels\nbase_os: debian12\n"
    from_file = plan_from(written(tmp_path, text), RequestFlags())
    from_flags = plan_from(None, FLAGS)
    assert {p.fact: p.origin for p in from_file.provenance}["cc"] == "file"
    assert replace(from_file, provenance=from_flags.provenance) == from_flags


def test_a_folder_that_holds_the_file(tmp_path: Path) -> None:
    written(tmp_path, "cc: 9.0\n")
    assert plan_from(str(tmp_path), RequestFlags()).cc == ("9.0",)


@pytest.mark.parametrize(
    ("text", "typed", "cc", "packages"),
    [
        ("cc: [6.1, 8.6]\nbase-os: debian12\n", {"cc": ["9.0"]}, ("9.0",), ""),
        ("gpu: GTX 1080 Ti\n", {"cc": ["9.0"]}, ("9.0",), ""),
        ("cc: 9.0\n", {"gpu": ["RTX 4090"]}, ("8.9",), ""),
        ("cc: 8.6\nwith: [torch==2.7.1, numba]\n", {"torch": "2.8.0"}, ("8.6",), "numba torch"),
        ("cc: 8.6\ntorch: 2.7.1\n", {"with_": ["torch==2.8.0"]}, ("8.6",), "torch"),
        ("cc: 8.6\ntorch: 2.8.0\n", {"with_": ["numba"]}, ("8.6",), "numba torch"),
        ("cc: 8.6\nplatform: linux/amd64\n", {"arch": "aarch64"}, ("8.6",), ""),
        ("cc: 8.7\nl4t: r36.4\n", {"platform": "linux", "cc": ["8.6"]}, ("8.6",), ""),
    ],
)
def test_flags_win_over_yaml(
    tmp_path: Path, text: str, typed: dict[str, Any], cc: tuple[str, ...], packages: str
) -> None:
    plan = plan_from(written(tmp_path, text), RequestFlags(**typed))
    assert plan.cc == cc
    assert " ".join(sorted(wish.name for wish in plan.request.packages)) == packages
    assert plan.torch is None or plan.torch.version == "2.8.0"


def test_what_gives_way_is_said_and_who_gave_what_is_kept(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "cc: 6.1\ndriver: 550.163.01\narch: x86_64\n")
    plan = plan_from(path, RequestFlags(driver="580.95.05"))
    assert f"{path}:2 gives way to the command line" in capfd.readouterr().err
    origins = {p.fact: (p.value, p.origin) for p in plan.provenance}
    assert origins["cc"] == ("6.1", "file")
    assert origins["driver"] == ("580.95.05", "flag")


def test_a_file_wins_over_a_record_and_the_record_fills_the_rest(tmp_path: Path) -> None:
    (tmp_path / "h.json").write_bytes((HOSTS / "rtx5090-docker-cdi.json").read_bytes())
    path = written(tmp_path, "host: h.json\ndriver: 575.64.03\n")
    origins = {p.fact: (p.value, p.origin) for p in plan_from(path, RequestFlags()).provenance}
    assert origins["cc"] == ("12.0", "recorded")
    assert origins["driver"] == ("575.64.03", "file")


def test_the_plan_command_takes_each_kind_of_source(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "cc: 6.1\ncuda: 13\n")
    assert run(["plan", path]) == 3
    assert run(["plan", path, "--cuda", "12.4", "-o", str(tmp_path / "plan.json")]) == 0
    assert run(["plan", str(tmp_path / "plan.json")]) == 0
    assert capfd.readouterr().out.count("CUDA 12.4.1 for cc 6.1") == 2
    assert run(["plan", str(tmp_path / "plan.json"), "--cc", "6.1"]) == 2


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


LAUGHS = "a: &a [x, x]\n" + "".join(f"b{i}: &b{i} [*a, *a]\n" for i in range(30))


@pytest.mark.parametrize(
    ("text", "says", "fix"),
    [
        ("cc: 9.0\ntoolkit-sorce: wheels\n", ":2 has the unknown key", "toolkit-source"),
        ("cc: 9.0\npackages: numba\n", ":2 has the unknown key 'packages'", "one of arch"),
        ("cc: 9.0\nCUDA: 12.6\n", ":2 has the unknown key 'CUDA'", "did you mean cuda?"),
        ("cc: 9.0\ncc: 6.1\n", ":2 has 'cc' twice", "keep one"),
        ("base-os: debian12\nbase_os: debian13\n", ":2 has 'base_os' twice", "keep one"),
        ("cc:\n  nested: 1\n", ":1 needs a value or a list", "colon"),
        ("cc: [6.1, [8.6]]\n", ":1 needs one value an entry", "colon"),
        ("cc: []\n", ":1 has an empty list", "leave the key out"),
        ("torch: [2.8, 2.9]\n", ":1 needs one value", "colon"),
        ("cuda:\n", ":1 needs one value", "colon"),
        ("cuda: ~\n", ":1 needs one value", "colon"),
        ("cc: ['']\n", ":1 needs one value an entry", "colon"),
        ("split: maybe\n", ":1 needs true or false", "true or false"),
        ("- cc\n", ":1 is not a table of flags", "name: value"),
        ("cc 9.0\n", ":1 is not a table of flags", "name: value"),
        ("cc: [9.0\n", "is not YAML", "name: value"),
        ("cc: 9.0\n  cuda: 12\n", ":2 is not YAML", "name: value"),
        ("[a, b]: 9.0\n", ":1 has a key that is no name", "name: value"),
        ("cc: " + "[" * 5000, "nest", "name: value"),
        ("", ":1 is empty", "name: value"),
        ("# cc: 9.0\n\n", "is empty", "name: value"),
        ("{}\n", ":1 is empty", "name: value"),
        ("cc: 9.0\n---\ncc: 6.1\n", ":2 begins a second document", "keep one"),
        ("cc: &x 9.0\n", ":1 has an anchor", "value itself"),
        (LAUGHS, ":1 has an anchor", "value itself"),
        ("cc: *x\n", "an alias", "value itself"),
        ("<<: {cc: 9.0}\n", ":1 has the unknown key '<<'", "one of arch"),
        ("cc: !!float 9.0\n", ":1 has the tag tag:yaml.org,2002:float", "leave it out"),
        ("cc: !!python/object/apply:os.system [id]\n", ":1 has the tag", "leave it out"),
        ("cc: 9.0\nwhere: \x07\n", "control character", "take it out"),
        ("cc: 9.0\n#" + "x" * 70_000, "at most 65536", "nothing else"),
        ("cc: 9.0\ncuda: banana\n", "envbuild.yaml:2: --cuda 'banana'", "12.6"),
        ("cc: 9.0\ntorch: banana\n", "envbuild.yaml:2: --torch", "12.6"),
        ("cc: 9.0\nbase-os: ubunto\n", "envbuild.yaml:2: --base-os 'ubunto'", "ubuntu"),
        ("cc: 9.0\n\nflavour: huge\n", "envbuild.yaml:3: --flavour 'huge'", "base, runtime"),
    ],
)
def test_what_is_wrong_and_where(tmp_path: Path, text: str, says: str, fix: str) -> None:
    with pytest.raises(InputError) as error:
        plan_from(written(tmp_path, text), RequestFlags())
    assert says in str(error.value)
    assert fix in error.value.fix


def test_a_flag_that_was_typed_is_not_blamed_on_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        plan_from(written(tmp_path, "cc: 9.0\ncuda: 12.6\n"), RequestFlags(cuda="banana"))
    assert error.value.what.startswith("--cuda 'banana'")


PIECES = st.sampled_from([
    "cc", "cuda", "with", ": ", "\n", "- ", "[", "]", "{", "}", ",", "&a", "*a", "!!int ", "<<",
    "|", ">", "'", '"', "? ", "---\n", "...\n", "%YAML 9.9\n", "#", "\t", "  ", "9.0", "~",
    "\ufeff", "\x85",
])  # fmt: skip


def fault(path: Path) -> InputError | None:
    try:
        assert request_file.read(str(path)).lines
    except InputError as e:
        return e
    return None


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    st.one_of(st.binary(max_size=60), st.lists(PIECES, max_size=20).map("".join).map(str.encode))
)
def test_whatever_a_file_holds_is_a_request_or_one_clear_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "noise.yaml"
    path.write_bytes(data)
    error = fault(path)
    assert error is None or (str(path) in error.what and error.fix)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"cc: 9.0\nwhere: \xff\n", ":2 is not text in UTF-8"),
        ("cc: 9.0\n".encode("utf-16"), ":1 is not text in UTF-8"),
    ],
)
def test_other_encodings(tmp_path: Path, data: bytes, says: str) -> None:
    (tmp_path / "envbuild.yaml").write_bytes(data)
    with pytest.raises(InputError, match=says):
        plan_from(str(tmp_path), RequestFlags())


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "envbuild.yaml").write_bytes("cc: 9.0\n".encode("utf-8-sig"))
    assert plan_from(str(tmp_path), RequestFlags()).cc == ("9.0",)


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
