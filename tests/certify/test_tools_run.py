"""Suite `tools` and the sanitizer end to end: the real runner, a made driver, made tools."""

import shutil
from pathlib import Path

import pytest

from envbuild.certify import run, steps
from envbuild.certify.seen import Seen
from envbuild.certify.sessions import TOOLS
from envbuild.certify.suites import tools
from envbuild.matrix.load import load
from envbuild.values.certificate import Check
from envbuild.values.codec import replace
from tests.certify import here


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The made driver, and the made tools in ``bin``."""
    made = here.fake_libcuda(tmp_path_factory.mktemp("driver"))
    (made / "bin").mkdir()
    for tool in TOOLS:
        shutil.copy(Path(__file__).with_name("made_tool.sh"), made / "bin" / tool)
    return made


def observed(folder: Path, how: str = "", *require: str) -> tuple[Seen, here.HereEngine]:
    env = {"PATH": f"{folder}/bin:/usr/bin:/bin", "MADE_TOOLS": how}
    engine = here.HereEngine(folder, env=env)
    seen = run.observations(
        engine,
        here.image(stage="runtime", cc="9.0", promise="90"),
        host=here.HOST,
        matrices=load(),
        policy=run.Policy(require=require or ("tools",)),
    )
    return seen, engine


def checks(seen: Seen, suite: str = "tools") -> dict[str, Check]:
    found = run.state(seen, (suite,))
    one = next(one for one in found.suites if one.name == suite)
    return {check.id.partition(".")[2]: check for check in one.checks}


def test_every_tool_works(folder: Path) -> None:
    seen, _ = observed(folder, "", "tools", "correct")
    found = checks(seen)
    assert {check.verdict for check in found.values()} == {"pass"}, found
    assert found["ncu"].value == "42"
    assert all(control.red for check in found.values() for control in check.controls)
    assert checks(seen, "correct")["sanitizer"].verdict == "pass"
    assert run.state(seen, ("tools", "correct")).exit == 0


@pytest.mark.parametrize(
    ("how", "verdicts", "code"),
    [
        ("lazy", {"cuda-gdb": "fail", "nsys": "fail", "ncu": "fail", "works": "fail"}, 6),
        ("always", {"cuda-gdb": "void", "nsys": "void", "ncu": "void"}, 9),
        ("refused", {"cuda-gdb": "skip", "nsys": "skip", "ncu": "skip", "works": "skip"}, 4),
    ],
)
def test_each_way_to_misbehave(folder: Path, how: str, verdicts: dict[str, str], code: int) -> None:
    seen, _ = observed(folder, how)
    found = checks(seen)
    assert {name: found[name].verdict for name in verdicts} == verdicts
    assert run.state(seen, ("tools",)).exit == code
    assert run.state(seen, ("smoke",)).exit == 0


@pytest.mark.parametrize("how", ["always", "lazy", "refused"])
def test_a_sanitizer_that_misbehaves(folder: Path, how: str) -> None:
    seen, _ = observed(folder, how, "correct")
    wanted = {"always": "void", "lazy": "inconclusive", "refused": "skip"}
    assert checks(seen, "correct")["sanitizer"].verdict == wanted[how]


@pytest.mark.parametrize(("user", "asked"), [("", ""), ("root", ""), ("1234:1234", "0")])
def test_profilers_run_as_root_in_an_image_of_another_user(
    folder: Path, user: str, asked: str
) -> None:
    seen, engine = observed(folder)
    image = replace(seen.image, user=user)
    bench = steps.Bench(engine, "made/here:1", folder / "probes", folder / "scratch")
    for path in (bench.probes, bench.scratch):
        path.mkdir(exist_ok=True)
    (bench.probes / "bugs.fatbin").write_bytes(b"0" * 16)
    fresh = tuple(s for s in seen.sessions if s.name != "tools")
    work = tools.next_work(bench, replace(seen, image=image, sessions=fresh))
    assert work is not None
    assert work.user == asked
