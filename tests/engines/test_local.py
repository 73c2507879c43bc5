"""The engine without containers: what it takes, what it refuses, how it runs commands."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envbuild.engines import native, toolkits
from envbuild.engines.base import Engine, Mount, RunSpec
from envbuild.engines.local import LocalEngine
from envbuild.errors import EnvbuildError, InputError, MachineError, StaleError
from envbuild.io.net import Net
from envbuild.values.codec import Pairs, digest, dump, replace
from envbuild.values.image import BuildContext, File
from envbuild.values.plan import HostCompiler, Plan
from envbuild.values.request import Request
from tests.engines import wheelhouse
from tests.engines.wheelhouse import MATRIX, serving, toolkit_wheels


def make_toolkit(folder: Path, cuda: str = "13.0", gcc: int = 99) -> Path:
    """A made toolkit: a script that says what nvcc says, and the header line of the limit."""
    (folder / "bin").mkdir(parents=True)
    nvcc = folder / "bin" / "nvcc"
    nvcc.write_text(wheelhouse.NVCC.format(cuda=cuda))
    nvcc.chmod(0o755)
    (folder / "include/crt").mkdir(parents=True)
    (folder / "include/crt/host_config.h").write_text(wheelhouse.HOST_CONFIG.format(gcc=gcc))
    (folder / "lib64").mkdir()
    (folder / "lib64/libcudart.so.13").write_bytes(b"runtime")
    (folder / "lib64/libcublas.so.13").write_bytes(b"large")
    return folder


def plan(**fields: object) -> Plan:
    whole: dict[str, object] = {
        "outcome": "ok",
        "cc": ("9.0",),
        "cuda": "13.0.2",
        "toolkit_source": "image",
        "promise": ("90",),
        "matrix": MATRIX,
    }
    return Plan(**(whole | fields))  # type: ignore[arg-type]


def only(value: Plan) -> BuildContext:
    """A context that holds nothing but the plan."""
    return BuildContext(files=(File(path="plan.json", data=dump(value)),), platform="linux/amd64")


def engine(tmp_path: Path) -> LocalEngine:
    return LocalEngine(tmp_path / "prefix", progress=lambda _: None)


@pytest.fixture
def toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = make_toolkit(tmp_path / "toolkit")
    monkeypatch.setenv("CUDA_HOME", str(folder))
    return folder


def test_it_is_an_engine(tmp_path: Path) -> None:
    held: Engine = engine(tmp_path)
    facts = held.probe()
    assert facts.answers
    assert facts.access == ("native",)
    assert "glibc" in facts.says
    assert not (tmp_path / "prefix").exists()


def test_a_toolkit_that_is_here_and_fits_is_used(tmp_path: Path, toolkit: Path) -> None:
    local = engine(tmp_path)
    assert local.toolkit_for(plan()) == toolkit
    image = local.build(only(plan()), "", Net(offline=True))
    assert image.ref == str(toolkit)
    assert image.labels.get("envbuild.plan") == digest(plan())
    assert image.labels.get("envbuild.lock") is None
    assert image.labels.get("envbuild.cuda") == "13.0"  # what it is, not what was planned
    assert local.inspect(image.ref) == image
    done = local.run(image.ref, RunSpec(argv=("nvcc", "--version")))
    assert done.out.startswith("Cuda compilation tools, release 13.0")


def test_a_changed_compiler_is_noticed_and_a_library_nobody_compiles_with_is_not(
    tmp_path: Path, toolkit: Path
) -> None:
    local = engine(tmp_path)
    image = local.build(only(plan()), "", Net())
    (toolkit / "lib64/libcublas.so.13").write_bytes(b"newer")
    assert local.inspect(image.ref) == image
    (toolkit / "lib64/libcudart.so.13").write_bytes(b"newer")
    with pytest.raises(StaleError, match="libcudart"):
        local.inspect(image.ref)


def test_a_source_that_the_user_named_is_not_replaced_by_what_is_here(
    tmp_path: Path, toolkit: Path
) -> None:
    asked = plan(request=Request(toolkit_source="wheels"))
    assert engine(tmp_path).toolkit_for(asked) is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"promise": ("90", "120")}, "sm_120"),
        ({"cuda": "12.9.1"}, "newer than the planned"),
        ({"cuda": None}, "no toolkit"),
        ({"cuda": "13.5", "request": Request(cuda=">=13.2")}, "not in the range"),
        ({"cuda": "13.5"}, None),
        ({"cuda": "13.5", "request": Request(cuda="13")}, None),
    ],
)
def test_why_a_toolkit_does_not_fit(toolkit: Path, change: dict[str, object], why: str) -> None:
    found = toolkits.read(toolkit)
    assert found is not None
    said = toolkits.misfit(found, plan(**change))
    assert (said is None) if why is None else (said is not None and why in said)


def test_a_toolkit_whose_compiler_limit_no_gxx_meets_does_not_fit(tmp_path: Path) -> None:
    found = toolkits.read(make_toolkit(tmp_path / "old", gcc=4))
    assert found is not None
    assert found.gcc_max == 4
    assert "no g++" in (toolkits.misfit(found, plan()) or "")


def test_an_nvcc_on_path_that_calls_another_is_not_taken_for_a_toolkit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = make_toolkit(tmp_path / "real")
    wrapper = tmp_path / "bin" / "nvcc"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec {real}/bin/nvcc "$@"\n')
    wrapper.chmod(0o755)
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
    assert toolkits.folders()[0] == real
    assert toolkits.read(tmp_path) is None


def test_a_folder_whose_nvcc_says_nothing_is_no_toolkit(tmp_path: Path) -> None:
    folder = make_toolkit(tmp_path / "broken")
    (folder / "bin/nvcc").write_text("#!/bin/sh\nexit 1\n")
    assert toolkits.read(folder) is None
    (folder / "bin/nvcc").chmod(0o644)
    assert toolkits.read(folder) is None


@pytest.mark.parametrize(
    ("cuda", "wanted", "meets"),
    [
        ("12.9", "12", True),
        ("12.9", "12.9", True),
        ("12.9", "12.9.1", True),
        ("12.9", "12.8", False),
        ("13.0", "12", False),
        ("12.6", ">=12.4,<13", True),
        ("13.0", ">=12.4,<13", False),
    ],
)
def test_ranges(cuda: str, wanted: str, meets: bool) -> None:
    assert toolkits.in_range(cuda, wanted) is meets


def test_a_range_that_is_none() -> None:
    with pytest.raises(InputError, match="not a range"):
        toolkits.in_range("12.9", ">=twelve")


def test_without_a_host_compiler_it_names_the_package_before_fetching(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = toolkit_wheels()
    (tmp_path / "empty").mkdir()
    with serving(made) as index:
        monkeypatch.setenv("PATH", str(tmp_path / "empty"))
        monkeypatch.delenv("NVCC_CCBIN", raising=False)
        monkeypatch.delenv("CUDAHOSTCXX", raising=False)
        with pytest.raises(MachineError, match=r"apt-get install g\+\+") as caught:
            engine(tmp_path).build(wheelhouse.context(made), "", Net(index_url=index.url))
    assert caught.value.exit_code == 4
    assert index.fetched == []


def test_a_host_compiler_above_the_limit_names_the_one_to_install(tmp_path: Path) -> None:
    made = toolkit_wheels()
    context = wheelhouse.context(made, host_compiler=HostCompiler(name="gcc", max=4))
    with pytest.raises(MachineError, match=r"apt-get install g\+\+-4") as caught:
        engine(tmp_path).build(context, "", Net(offline=True))
    assert "newer than this toolkit takes" in caught.value.what


def test_a_versioned_compiler_below_the_limit_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, says in (("g++", "16"), ("g++-13", "13")):
        script = tmp_path / name
        script.write_text(f"#!/bin/sh\necho {says}\n")
        script.chmod(0o755)
    monkeypatch.delenv("NVCC_CCBIN", raising=False)
    monkeypatch.delenv("CUDAHOSTCXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert toolkits.need_host_compiler(15).path == str(tmp_path / "g++-13")
    assert toolkits.need_host_compiler(None).path == str(tmp_path / "g++")
    monkeypatch.setenv("CUDAHOSTCXX", str(tmp_path / "g++"))
    assert toolkits.need_host_compiler(None).path == str(tmp_path / "g++")
    assert toolkits.need_host_compiler(15).path == str(tmp_path / "g++-13")


def test_a_compiler_that_lacks_a_promised_target_is_no_build(tmp_path: Path) -> None:
    made = toolkit_wheels()
    context = wheelhouse.context(made, promise=("90", "120"))
    with serving(made) as index, pytest.raises(EnvbuildError, match="sm_120") as caught:
        engine(tmp_path).build(context, "", Net(index_url=index.url))
    assert caught.value.exit_code == 5


def test_a_plan_of_another_source_says_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="container engine") as caught:
        engine(tmp_path).build(only(plan(promise=("999",))), "", Net())
    assert "--toolkit-source wheels" in caught.value.fix


def test_a_lock_of_another_plan_is_stale(tmp_path: Path) -> None:
    made = toolkit_wheels()
    theirs = wheelhouse.context(made).files[1]
    mine = wheelhouse.context(made, promise=("75",)).files[0]
    context = BuildContext(files=(mine, theirs), platform="linux/amd64")
    with pytest.raises(StaleError, match="another plan"):
        engine(tmp_path).build(context, "", Net())


def test_a_context_without_a_plan(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"plan\.json"):
        engine(tmp_path).build(BuildContext(files=(), platform="linux/amd64"), "", Net())


def test_what_only_images_have_is_refused(tmp_path: Path) -> None:
    local = engine(tmp_path)
    with pytest.raises(InputError, match="runtime stage"):
        local.build(only(plan()), "", Net(), target="runtime")
    with pytest.raises(InputError, match="not an image"):
        local.push("/x", "y", Net())
    with pytest.raises(InputError, match="no images"):
        local.pull("debian", Net())
    with pytest.raises(InputError, match="neither"):
        local.run(str(tmp_path), RunSpec(argv=("true",)))
    assert local.inspect(str(tmp_path)) is None


def test_the_dry_run_says_what_would_be_done_and_does_nothing(
    tmp_path: Path, toolkit: Path
) -> None:
    local = engine(tmp_path)
    assert str(toolkit) in local.build_steps(only(plan()), "", Net())[0].text
    steps = local.build_steps(wheelhouse.context(toolkit_wheels()), "", Net())
    assert "--require-hashes" in steps[0].argv
    unlocked = plan(toolkit_source="wheels", request=Request(toolkit_source="wheels"))
    assert "HASH" in local.build_steps(only(unlocked), "", Net())[1].text
    with pytest.raises(MachineError, match="container engine"):
        local.build_steps(only(plan(promise=("999",))), "", Net())
    assert not (tmp_path / "prefix").exists()


def test_commands_see_the_toolkit_first_and_the_machine_behind(
    tmp_path: Path, toolkit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/usr/lib/wsl/lib")
    local = engine(tmp_path)
    ref = local.build(only(plan(env=Pairs({"CUDAARCHS": "90", "CUDA_HOME": "/x"}))), "", Net()).ref
    spec = RunSpec(argv=("env",), access="native", devices=("1", "3"), env=Pairs({"A": "b c"}))
    lines = local.run(ref, spec).out.splitlines()
    assert f"PATH={toolkit}/bin:{os.environ['PATH']}" in lines
    assert f"LD_LIBRARY_PATH={toolkit}/lib64:/usr/lib/wsl/lib" in lines
    assert f"CUDA_HOME={toolkit}" in lines
    assert {"CUDAARCHS=90", "A=b c", "CUDA_VISIBLE_DEVICES=1,3"} <= set(lines)
    hidden = local.run(ref, RunSpec(argv=("env",))).out.splitlines()
    assert "CUDA_VISIBLE_DEVICES=" in hidden


def test_a_mount_is_found_at_its_source(tmp_path: Path, toolkit: Path) -> None:
    local = engine(tmp_path)
    (tmp_path / "probe").write_text("here")
    where = local.inside(Mount(source=str(tmp_path / "probe"), target="/probe"))
    done = local.run(str(toolkit), RunSpec(argv=("cat", where), workdir=str(tmp_path)))
    assert done.out == "here"


def test_a_command_and_what_it_started_end_at_the_time_limit(tmp_path: Path, toolkit: Path) -> None:
    mark = tmp_path / "mark"
    script = f"(sleep 3; touch {mark}) & wait"
    done = engine(tmp_path).run(str(toolkit), RunSpec(argv=("sh", "-c", script), timeout=0.3))
    assert done.timed_out
    time.sleep(3.2)
    assert not mark.exists()


@pytest.mark.parametrize(
    "spec", [RunSpec(argv=("true",), user="0"), RunSpec(argv=("true",), access="cdi")]
)
def test_what_needs_a_container_is_refused(tmp_path: Path, toolkit: Path, spec: RunSpec) -> None:
    with pytest.raises(InputError):
        engine(tmp_path).run(str(toolkit), spec)


def test_interactive_passes_the_exit_code_and_the_environment(
    tmp_path: Path, toolkit: Path
) -> None:
    script = f'test "$CUDA_HOME" = {toolkit} && exit 7'
    assert engine(tmp_path).interactive(str(toolkit), ["sh", "-c", script], "native") == 7
    with pytest.raises(InputError, match="no-such-command"):
        engine(tmp_path).interactive(str(toolkit), ["no-such-command"], "native")


def test_the_printed_run_command_does_the_same(tmp_path: Path, toolkit: Path) -> None:
    step = engine(tmp_path).run_step(str(toolkit), ["nvcc", "--version"], "native")
    done = subprocess.run(step.argv, capture_output=True, text=True, check=True)
    assert "release 13.0" in done.stdout


def test_an_unrecorded_toolkit_can_be_used_by_its_path(tmp_path: Path) -> None:
    folder = make_toolkit(tmp_path / "mine")
    image = engine(tmp_path).inspect(str(folder))
    assert image is not None
    assert image.labels.get("envbuild.cuda") == "13.0"
    assert native.unrecorded(tmp_path) is None


def test_only_linux_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    facts = engine(tmp_path).probe()
    assert not facts.answers
    assert "Linux" in facts.says


def test_a_moved_workspace_is_built_again_from_its_own_wheels(tmp_path: Path) -> None:
    made = toolkit_wheels()
    with serving(made) as index:
        net = Net(index_url=index.url)
        engine(tmp_path).build(wheelhouse.context(made), "", net)
    moved = (tmp_path / "prefix").rename(tmp_path / "moved")
    again = LocalEngine(moved, progress=lambda _: None)
    image = again.build(wheelhouse.context(made), "", replace(Net(), offline=True))
    assert image.ref.startswith(str(moved))
    assert (image.env.get("CUDA_HOME") or "").startswith(str(moved))
