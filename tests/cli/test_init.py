"""``envbuild init`` and the editors' schema: a file read back is the request it was made of."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from envbuild.cli import request_file
from envbuild.cli.app import run
from envbuild.cli.init import text
from envbuild.cli.options import RequestFlags
from envbuild.cli.source import plan_from
from envbuild.errors import InputError
from envbuild.values.codec import replace
from envbuild.values.request import Request, Wish
from tests.planner.requests import requests

ROOT = Path(__file__).parents[2]
HOSTS = ROOT / "tests" / "hosts"
SCHEMA = json.loads((ROOT / "envbuild/schemas/envbuild-yaml.json").read_text(encoding="utf-8"))
Cap = pytest.CaptureFixture[str]

# What a command line can hold: no NUL, nothing but text.
TYPED = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
WORDS = TYPED.filter(lambda word: "," not in word and word.strip() == word)
RANGES = st.sampled_from(["", "==2.10", "===2.1", ">=2.9", "~=2.8", "!=2.7", ">=2.4,<2.6"])
WISHES = st.builds(Wish, name=st.sampled_from(["torch", "numba", "jax[cuda12]"]), range=RANGES)


def test_what_is_written_is_short_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["init", "--cc", "6.1", "--torch", "2.4", "--with", "numba>=0.60"]) == 0
    lines = (tmp_path / "envbuild.yaml").read_text().splitlines()
    assert 'torch: "2.4"' in lines
    assert lines[lines.index('cc: "6.1"') - 1].startswith("# the GPUs to run on")
    assert any("CUDA 12.1" in line and "torch 2.4.1" in line for line in lines[:5])
    assert run(["plan", "envbuild.yaml"]) == 0


def test_a_file_that_is_there_stays(tmp_path: Path, capfd: Cap) -> None:
    path = tmp_path / "e.yaml"
    path.write_text("cc: 9.0\n")
    assert run(["init", "--cc", "6.1", "-o", str(path)]) == 2
    assert "--force" in capfd.readouterr().err
    assert path.read_text() == "cc: 9.0\n"
    assert run(["init", "--cc", "6.1", "-o", str(path), "--force", "--json"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["file"], told["request"]["cc"]) == (str(path), ["6.1"])
    assert request_file.read(str(path)).flags.cc == ["6.1"]


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["--cc", "6.1", "--cuda", "13"], 3),
        (["--cc", "99"], 2),
        (["--cc", "6.1", "--torch", "banana"], 2),
        (["--host", str(HOSTS / "docker-container.json")], 4),
    ],
)
def test_nothing_is_written_of_what_has_no_plan(tmp_path: Path, args: list[str], code: int) -> None:
    assert run(["init", "-o", str(tmp_path / "e.yaml"), *args]) == code
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=200, deadline=None, derandomize=True)
@given(requests(), st.lists(WISHES, max_size=3), TYPED, st.lists(WORDS, max_size=2), st.booleans())
def test_a_request_is_read_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory,
    request_: Request,
    wishes: list[Wish],
    typed: str,
    words: list[str],
    split: bool,
) -> None:
    path = tmp_path_factory.getbasetemp() / "read-back.yaml"
    asked = replace(
        request_, packages=tuple(wishes), driver=typed, gpus=tuple(words), as_of=typed, split=split
    )
    path.write_text(text(asked), encoding="utf-8")
    assert request_file.read(str(path)).flags.request() == asked


@settings(max_examples=40, deadline=None, derandomize=True)
@given(requests())
def test_it_plans_the_same(tmp_path_factory: pytest.TempPathFactory, asked: Request) -> None:
    from envbuild.matrix.load import load
    from envbuild.planner.plan import plan
    from envbuild.planner.resolve import resolve

    path = tmp_path_factory.getbasetemp() / "plans.yaml"
    path.write_text(text(asked), encoding="utf-8")
    again = request_file.read(str(path)).flags.request()
    try:
        made = plan(resolve(asked, None, load()), load())
    except InputError:
        with pytest.raises(InputError):
            resolve(again, None, load())
    else:
        assert plan(resolve(again, None, load()), load()) == made


@pytest.mark.parametrize("name", sorted(path.stem for path in HOSTS.glob("*.json")))
def test_a_machine_gets_from_the_file_what_it_got_itself(name: str, tmp_path: Path) -> None:
    path, host = tmp_path / "envbuild.yaml", str(HOSTS / f"{name}.json")
    code = run(["init", "--host", host, "-o", str(path)])
    assert code == (run(["plan", "--host", host]) if code else 0)
    if code == 0:
        here, there = plan_from(None, RequestFlags(host=host)), plan_from(str(path), RequestFlags())
        for field in ("cc", "cuda", "image", "gencode", "flags", "packages", "driver", "platform"):
            assert getattr(here, field) == getattr(there, field), field


class Editor(yaml.SafeLoader):
    """YAML 1.2 as editors read it: no dates, and only true and false are boolean."""


Editor.yaml_implicit_resolvers = {
    first: [(tag, how) for tag, how in rows if not tag.endswith(("timestamp", "bool"))]
    for first, rows in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Editor.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), list("tf"))


def marked(document: str) -> bool:
    """An editor with the published schema marks something in this file."""
    return not jsonschema.Draft202012Validator(SCHEMA).is_valid(yaml.load(document, Editor))  # noqa: S506


@pytest.mark.parametrize(
    "document",
    [
        "cc: 6.1\ntorch: 2.10\nas-of: 2026-12-01\nsplit: true\n",
        "cc: [6.1, sm_86, '9.0']\nwith: [numba>=0.60, cupy]\nbase_os: debian12\n",
        "gpu: GTX 1080 Ti\ndriver: 580\nplatform: linux/arm64\nl4t: r36.4\n",
        "cc: all\ncuda: '>=12.4,<13'\nwhere: host\nglibc: 2.41\ngcc: 16\nflavour: devel\n",
        "cc: SM_61, 8.6\ntoolkit-source: wheels\narch: aarch64\nhost: h.json\nfeature: wgmma\n",
    ],
)
def test_the_schema_takes_what_is_read(document: str, tmp_path: Path) -> None:
    (tmp_path / "envbuild.yaml").write_text(document)
    assert request_file.read(str(tmp_path / "envbuild.yaml")).lines
    assert not marked(document)


@pytest.mark.parametrize(
    "document",
    [
        "cx: 6.1\n",
        "cc: []\n",
        "cc: {a: 1}\n",
        "cc: banana\n",
        "torch: [2.8, 2.9]\n",
        "cuda:\n",
        "split: maybe\n",
        "where: cloud\n",
        "cc: 8.6\nflavour: huge\n",
        "cc: 8.6\narch: x64\n",
        "cc: 8.6\nplatform: beos\n",
        "cc: 8.6\nas-of: tomorrow\n",
        "cc: 8.6\ntoolkit-source: floppy\n",
        "{}\n",
        "- cc\n",
    ],
)
def test_what_the_schema_marks_is_no_request(document: str, tmp_path: Path) -> None:
    assert marked(document)
    (tmp_path / "envbuild.yaml").write_text(document)
    with pytest.raises(InputError):
        plan_from(str(tmp_path / "envbuild.yaml"), RequestFlags())


@settings(max_examples=100, deadline=None, derandomize=True)
@given(requests())
def test_no_file_of_ours_is_marked(asked: Request) -> None:
    assert not marked(text(asked))
