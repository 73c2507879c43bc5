"""Plain questions get the rows' answers, each line with its row, status and sources."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from envbuild.errors import InputError
from envbuild.matrix.load import OVERLAY, load
from envbuild.matrix.show import Answer, Question, ask, span, text
from envbuild.matrix.tables import TABLES
from envbuild.values.codec import dump

ROOT = Path(__file__).parents[2]


def lines(question: Question, about: str = "") -> list[str]:
    """What the answer says, all of it or the lines with this word in the first column."""
    sections = ask(question).sections
    return [ln.says for part in sections for ln in part.lines if about in {"", ln.about}]


def run(*argv: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "envbuild", "matrix", "show", *argv],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("cc", "toolkits"),
    [
        ("12.1", ["sm_121: 12.9-13.5", "sm_121a: 12.9-13.5", "sm_121f: 12.9-13.5"]),
        ("sm_61", ["sm_61: 10.2-12.9"]),
        ("9.0", ["sm_90: 11.8-13.5", "sm_90a: 12.0-13.5"]),
        ("2.1", []),
    ],
)
def test_which_toolkits_know_a_card(cc: str, toolkits: list[str]) -> None:
    assert [
        says for says in lines(Question(cc=cc), "toolkits") if says.startswith("sm_")
    ] == toolkits


def test_a_number_that_a_toolkit_gave_up_is_said_too() -> None:
    told = lines(Question(cc="11.0"), "toolkits")
    assert any(says.startswith("sm_110: 13.0-13.5") for says in told)
    assert any("sm_101" in says and "12.8-12.9" in says for says in told)


def test_what_a_card_is() -> None:
    (what,) = lines(Question(gpu="1080ti"), "what")
    assert what.startswith("GeForce GTX 1080 Ti, cc 6.1, GP102 (1b06)")
    (driver,) = lines(Question(gpu="1080ti"), "driver")
    assert driver == "R580 is the last branch, until 2028-06, proprietary module only"
    assert lines(Question(gpu="10de:1b06"), "what") == [what]


def test_a_name_of_two_chips_asks() -> None:
    (which,) = lines(Question(gpu="GTX 860M"), "which")
    assert which.startswith("the name alone does not tell: 3.0 or 5.0.")
    assert "nvidia-smi --query-gpu=compute_cap" in which
    assert lines(Question(gpu="GTX 1080"), "which") == []


def test_which_builds_of_torch_hold_old_code() -> None:
    builds = lines(Question(torch="2.14", cc="6.1"), "builds")
    assert [says.partition(",")[0] for says in builds] == [
        "2.14.1 from cu126 (x86_64)",
        "2.14.0 from cu126 (x86_64)",
    ]
    assert lines(Question(torch="2.14", cc="6.1"), "index") == [
        "cu126: https://download.pytorch.org/whl/cu126"
    ]
    (none,) = lines(Question(torch="2.15", cc="6.1"), "builds")
    assert none == "no build of it has code for 6.1; the newest with it is 2.14.1 from cu126"
    assert len(lines(Question(torch="2.15"), "builds")) > 4


def test_what_a_driver_drives_until_when() -> None:
    assert lines(Question(driver="R580"), "ends") == ["2028-06"]
    drives = [says.split()[0] for says in lines(Question(driver="580"), "drives")]
    assert {"5.0", "6.1", "7.0", "7.5", "12.0"} <= set(drives)
    assert "3.7" not in drives
    later = [says.split()[0] for says in lines(Question(driver="595"), "drives")]
    assert "7.5" in later
    assert not {"5.0", "6.1", "7.0"} & set(later)


def test_the_compilers_images_and_driver_of_a_toolkit() -> None:
    assert lines(Question(cuda="12.9"), "compilers") == ["gcc up to 14, clang up to 19"]
    assert any("575.51.03" in says for says in lines(Question(cuda="12.9.1"), "driver"))
    assert any(
        says.startswith("12.9.1 ubuntu22.04: base")
        for says in lines(Question(cuda="12.9"), "images")
    )


def test_a_major_is_a_prefix_and_a_patch_release_that_is_in_no_row_is_said() -> None:
    every = [part.about for s in ask(Question(cuda="12")).sections for part in s.lines]
    assert (every[0], every[-1]) == ("12.9", "12.0")
    served = lines(Question(cuda="13", cc="6.1"))
    assert served[0].startswith("has no target for 6.1: sm_75 to sm_121")
    (release,) = lines(Question(cuda="12.9.7"), "release")
    assert release == "12.9.7 is in no row; of 12.9 these are: 12.9.0, 12.9.1, 12.9.2"
    assert lines(Question(cuda="12.9.1"), "release") == []
    assert lines(Question(cuda="CUDA v12.9")) == lines(Question(cuda="12.9"))


def test_a_compiler_in_hand() -> None:
    assert lines(Question(gcc="gcc-14"), "toolkits") == ["12.8-13.5 take gcc 14"]
    assert lines(Question(gcc="14.2"), "not") == ["10.2-12.6: 12.6 takes gcc up to 13"]
    assert "debian13: its own" in lines(Question(gcc="14"), "systems")
    assert lines(Question(gcc="99"), "toolkits") == []
    with pytest.raises(InputError, match="banana"):
        ask(Question(gcc="banana"))


def test_a_python_in_hand() -> None:
    assert lines(Question(python="3.13.5"), "torch") == ["2.5.0-2.15.0 have wheels for Python 3.13"]
    assert lines(Question(python="python3.13"), "systems") == ["debian13: its own"]
    with pytest.raises(InputError, match=r"2\.7"):
        ask(Question(python="2.7"))


def test_torch_as_a_package_is_the_newest_release() -> None:
    assert lines(Question(package="torch"), "builds") == lines(Question(torch="2.15.0"), "builds")


def test_words_that_people_use_for_systems_and_jetsons() -> None:
    assert lines(Question(os="Ubuntu 26.04")) == lines(Question(os="ubuntu26.04"))
    assert lines(Question(l4t="JetPack 6.2")) == lines(Question(l4t="r36.4"))
    assert all("Orin" in says for says in lines(Question(l4t="jetson orin")))
    with pytest.raises(InputError, match="musl"):
        ask(Question(os="alpine"))


def test_images_that_others_pinned_and_the_vendors_own_frameworks() -> None:
    pinned = lines(Question(cuda="13.4.1"), "digests")
    assert any(
        says.startswith(
            "docker.io/nvidia/cuda:13.4.1-devel-ubuntu24.04, all platforms: sha256:a3f0"
        )
        for says in pinned
    )
    assert lines(Question(cuda="13.4"), "digests") == pinned
    assert lines(Question(cuda="13.4.0"), "digests") == []
    (ngc,) = lines(Question(cuda="13.1"), "ngc")
    assert ngc == "nvcr.io/nvidia/pytorch:25.12-py3, 2.10.0a0+b4e4ee81d3, CUDA 13.1.0, Python 3.12"
    # Where only the major is published, it is said of each of its releases.
    assert any("25.04-py3, CUDA 12, Python" in says for says in lines(Question(cuda="12.6"), "ngc"))
    assert lines(Question(cc="5.2"), "ngc") == []
    assert lines(Question(cc="6.1"), "ngc") == ["nvcr.io/nvidia/dgl:23.07-py3: cc 6.0 and newer"]


def test_rates_of_a_card_name_the_boards_that_are_halved() -> None:
    rates = lines(Question(cc="8.6"), "rates")
    assert "fma f64: 4 operations an SM and clock" in rates
    halved = "1024 operations an SM and clock, half on geforce and geforcertx"
    assert f"tensor f16 summed in f32: {halved}" in rates
    assert lines(Question(cc="11.0"), "rates") == []


@pytest.mark.parametrize(
    ("question", "says"),
    [
        (Question(package="cudnn"), "9.11 and newer: no code below 7.5"),
        (Question(package="jax"), "jax[cuda12] for CUDA 12"),
        (Question(os="jammy"), "gcc 11, also 9 10 12, glibc 2.35"),
        (Question(l4t="r36.4"), "JetPack 6.2, CUDA 12.6, cc 8.7"),
        (Question(engine="docker"), "28.2.0 or newer: CDI devices work without a switch"),
        (Question(tool="ncu"), "the last with Pascal"),
        (Question(tool="nsys"), "from 2025.2, cc 7.5 to newest"),
        (Question(tool="nsys", cc="6.1"), "to 2025.1, cc 6.0 to newest"),
        (Question(wsl=True), "no Linux driver is ever installed there"),
    ],
)
def test_the_other_questions(question: Question, says: str) -> None:
    assert any(says in one for one in lines(question))


def test_every_line_names_a_row_its_status_and_sources_that_are_listed() -> None:
    asked = [
        Question(cc="6.1"),
        Question(gpu="RTX 5090"),
        Question(cuda="13.0"),
        Question(torch="2.9"),
        Question(driver="535"),
        Question(package="triton"),
        Question(os="debian13"),
        Question(l4t="39"),
        Question(engine="podman"),
        Question(tool="compute-sanitizer"),
        Question(tool="nsys"),
        Question(cuda="13.4"),
        Question(wsl=True),
    ]
    for question in asked:
        answer = ask(question)
        known = {source.id for source in answer.sources}
        every = [ln for part in answer.sections for ln in part.lines]
        assert every, question
        for ln in every:
            table, _, key = ln.row.partition("/")
            assert table in TABLES, ln
            assert key, ln
            assert set(ln.source) <= known, ln
            assert ln.source, ln
        assert known == {one for ln in every for one in ln.source}


def test_several_questions_are_several_sections() -> None:
    answer = ask(Question(cuda="12.9", driver="580"))
    assert [part.question for part in answer.sections] == ["CUDA 12.9", "driver 580"]
    plain = list(text(answer, lambda words, _: words))
    assert plain[0] == "CUDA 12.9"
    assert "driver 580" in plain
    assert plain[-1].startswith(f"matrices of {load().date}")


@pytest.mark.parametrize(
    ("question", "near"),
    [
        (Question(cc="9.9"), "9.0"),
        (Question(gpu="GTX 1080 TX"), "GeForce GTX 1080 Ti"),
        (Question(cuda="12.7"), "12.8"),
        (Question(torch="2.99"), "2.9"),
        (Question(driver="581"), "580"),
        (Question(package="cuppy"), "cupy"),
        (Question(os="ubuntu25"), "ubuntu24.04"),
        (Question(l4t="40"), "39"),
        (Question(engine="dokker"), "docker"),
        (Question(tool="nqu"), "ncu"),
    ],
)
def test_what_no_row_knows_names_the_nearest(question: Question, near: str) -> None:
    with pytest.raises(InputError) as e:
        ask(question)
    assert near in f"{e.value.why} {e.value.fix}"


def test_nothing_asked_is_an_input_error() -> None:
    with pytest.raises(InputError, match="nothing is asked"):
        ask(Question())


def test_an_overlay_is_named_and_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.yaml").write_text(
        "sources:\n- {id: mine, says: my own machine}\n"
        "toolkits:\n"
        "- {cuda: '14.0', targets: ['61'], gcc_max: 17, source: [mine], status: measured}\n"
    )
    monkeypatch.setenv(OVERLAY, str(tmp_path))
    answer = ask(Question(cuda="14.0"))
    assert answer.overlay == str(tmp_path)
    assert answer.sections[0].lines[1].says == "gcc up to 17"
    assert answer.sections[0].lines[1].source == ("mine",)
    assert "my own machine" in {source.says for source in answer.sources}


def test_the_command_prints_the_answer() -> None:
    ran = run("--driver", "580")
    assert ran.returncode == 0, ran.stderr
    assert "2028-06" in ran.stdout
    assert "branches/580 sourced [" in ran.stdout
    assert ran.stderr == ""


def test_the_command_as_json_is_the_published_schema() -> None:
    ran = run("--gpu", "GTX 860M", "--json")
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    schema = json.loads((ROOT / "envbuild/schemas/matrix-answer.json").read_text())
    jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "sections": "none"}, schema)


def test_json_is_the_answer_and_nothing_else() -> None:
    answer = ask(Question(cc="6.1"))
    assert json.loads(dump(answer))["schema"] == "envbuild/matrix-answer/1"
    assert isinstance(answer, Answer)
    assert json.loads(run("--cc", "6.1", "--json").stdout) == json.loads(dump(answer))


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ((), "nothing is asked"),
        (("--cuda", "12.7"), "12.8"),
        (("--gpu", "Radeon VII"), "no GPU product"),
        (("--cc", "banana"), "not a compute capability"),
    ],
)
def test_bad_input_ends_with_2_and_says_why(argv: tuple[str, ...], says: str) -> None:
    ran = run(*argv)
    assert ran.returncode == 2
    assert says in ran.stderr
    assert ran.stdout == ""


def test_runs_of_neighbours() -> None:
    order = ["10.2", "11.7", "11.8", "12.0", "12.1"]
    assert span(["11.7", "11.8", "12.1"], order) == "11.7-11.8, 12.1"
    assert span([], order) == ""
