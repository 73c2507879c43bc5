"""What of a machine counts: WSL 1, Windows, other systems, and the rows of its own system."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from envbuild.cli.app import run
from envbuild.errors import EnvbuildError, InputError, MachineError
from envbuild.matrix.load import load
from envbuild.planner.plan import plan as plan_of
from envbuild.values.codec import dump, replace
from envbuild.values.codec import load as read
from envbuild.values.host import Driver, Gpu, Host, Os, Tool
from envbuild.values.plan import Plan
from tests.planner.ask import ask, ids, table, target

HOSTS = Path(__file__).resolve().parents[1] / "hosts"
RTX = Gpu(name="NVIDIA GeForce RTX 4090", cc="8.9", source="nvidia-smi")


def recorded(name: str) -> Host:
    return read(Host, (HOSTS / f"{name}.json").read_bytes(), name)


def made(platform: str, **fields: Any) -> Host:  # noqa: ANN401
    """Made: a machine with one card, and the fields that a case is about."""
    driver = Driver(version="581.57", cuda="13.0") if platform in {"windows", "wsl2"} else None
    facts = {"gpus": (RTX,), "driver": driver, "os": Os(arch="x86_64")} | fields
    return Host(kind="made", platform=platform, **facts)


WSL1, WINDOWS, MAC = recorded("wsl1"), recorded("windows-rtx4070"), made("darwin")


@pytest.mark.parametrize("fields", [{}, {"cc": "8.9"}, {"where": "host"}, {"packages": "torch"}])
@pytest.mark.parametrize(
    ("host", "what", "fix"),
    [
        (WSL1, "WSL 1, which has no way to a GPU", "wsl --set-version NAME 2"),
        (MAC, "runs macOS, for which these matrices have no CUDA", "--platform linux"),
        (made("freebsd"), "runs freebsd", "--platform linux"),
    ],
)
def test_a_system_without_a_way_to_a_gpu(
    host: Host, what: str, fix: str, fields: dict[str, str]
) -> None:
    with pytest.raises(InputError) as e:
        target(host=host, **fields)
    assert what in e.value.what
    assert fix in e.value.fix
    with pytest.raises(MachineError, match=what):
        target(host=replace(host, kind="detected"), **fields)


@pytest.mark.parametrize("host", [WSL1, MAC, WINDOWS, made("linux")])
@pytest.mark.parametrize("platform", ["wsl2", "linux"])
def test_a_platform_that_is_named_is_planned_for(host: Host, platform: str) -> None:
    plan = ask("8.9", host=host, platform=platform, where="host")
    assert (plan.platform, plan.outcome == "refuse") == (platform, False)


def test_on_windows_a_container_is_planned_in_wsl_2_and_says_how() -> None:
    plan = ask(host=WINDOWS)
    facts = {p.fact: (p.value, p.origin) for p in plan.provenance}
    assert facts["system"] == ("windows", "recorded")
    assert facts["platform"] == ("wsl2", "derived")
    (finding,) = [f for f in plan.findings if f.id == "windows-host"]
    assert finding.steps[0].argv == ("wsl", "--install")
    assert all(step.check for step in finding.steps)
    assert any("VERSION 2" in step.check for step in finding.steps)
    assert "windows-host" not in ids(ask(host=made("wsl2")))
    assert "windows-host" not in ids(ask("8.9", platform="wsl2"))


def test_windows_itself_is_not_planned_for() -> None:
    with pytest.raises(EnvbuildError) as e:
        ask(host=WINDOWS, where="host")
    assert "--platform wsl2" in e.value.fix
    assert "wsl -l -v" in e.value.fix


def test_what_is_installed_on_windows_is_not_in_wsl() -> None:
    gcc = Tool(name="gcc", version="8.1.0")
    here = made("windows", os=Os(id="windows", arch="x86_64"), compilers=(gcc,))
    asked = target(host=here, platform="wsl2", where="host")
    assert (asked.gcc, asked.host_os, asked.driver) == (None, None, "581.57")


@pytest.mark.parametrize(
    ("host", "platform", "driver"),
    [
        (made("wsl2"), "linux", None),
        (made("wsl2"), "wsl2", "581.57"),
        (made("linux", driver=Driver(version="580.95.05")), "wsl2", None),
        (made("linux", driver=Driver(version="580.95.05")), "linux", "580.95.05"),
    ],
)
def test_a_driver_of_one_system_is_none_of_the_other(
    host: Host, platform: str, driver: str | None
) -> None:
    assert target(host=host, platform=platform).driver == driver


@pytest.mark.parametrize(
    ("id", "glibc", "python"),
    [("ubuntu24.04", "2.39", "3.12"), ("rhel9", "2.34", "3.9"), ("arch", None, None)],
)
def test_what_nobody_looked_at_is_that_of_the_systems_row(
    id: str, glibc: str | None, python: str | None
) -> None:
    here = made("linux", os=Os(id=id, arch="x86_64"))
    asked = target(host=here, where="host")
    assert (asked.glibc, asked.python) == (glibc, python)
    origin = {p.fact: p.origin for p in asked.provenance}.get("glibc")
    assert origin == ("derived" if glibc else None)
    old = ask(host=replace(here, gpus=(replace(RTX, cc="6.1"),)), where="host")
    assert ("glibc-unknown" in ids(old)) is (glibc is None)
    seen = replace(here, os=replace(here.os, glibc="2.31"))
    assert target(host=seen, where="host").glibc == "2.31"
    assert target(host=here, where="image").glibc is None


@pytest.mark.parametrize(
    ("cuda", "gcc", "says"),
    [
        ("13.3", "4.8", "CUDA 13.3 needs gcc 7 or newer, here is 4.8: its C++ headers (CCCL)"),
        ("13.3", "6.5", "CUDA 13.3 needs gcc 7 or newer"),
        ("13.3", "7.5", ""),
        ("13.3", "16.1", "CUDA 13.3 takes gcc up to 15, here is 16.1"),
        ("12.9", "5.4", "CUDA 12.9 needs gcc 6 or newer"),
        ("12.9", "6.5", ""),
        ("11.8", "5.4", "whether CUDA 11.8 takes gcc 5.4 is not known"),
        ("11.8", "9.4", ""),
    ],
)
def test_a_gcc_out_of_the_toolkits_range(cuda: str, gcc: str, says: str) -> None:
    plan = ask("8.0", where="host", cuda=cuda, gcc=gcc, glibc="2.31")
    (text,) = [f.says for f in plan.findings if f.id == "host-compiler"] or [""]
    assert (text[: len(says)], bool(text)) == (says, bool(says))
    compiler = plan.host_compiler
    assert compiler is not None
    # A gcc that is too old is not what the plan compiles with.
    assert (compiler.version is None) == ("needs" in says)


@pytest.mark.parametrize(
    ("fields", "warned"),
    [
        ({"cc": "12.1", "platform": "wsl2"}, True),
        ({"cc": "9.0", "platform": "wsl2", "arch": "aarch64"}, True),
        ({"cc": "12.1"}, False),
        ({"cc": "9.0", "platform": "wsl2"}, False),
    ],
)
def test_wsl_on_arm_is_not_known(fields: dict[str, Any], warned: bool) -> None:
    plan = ask(**fields)
    assert ("wsl-arm" in ids(plan, "warn")) is warned
    if warned:
        assert plan.outcome == "warn"
        assert [(n.min, n.recommended) for n in plan.driver] == [(None, None)]


@pytest.mark.parametrize(
    ("argv", "code", "kept"),
    [
        (["plan", "--where", "host", "--with", "numba>=0.6"], 3, "--with 'numba>=0.6'"),
        (["plan", "--cuda", "13"], 3, "envbuild plan"),
        (["lock", "--cuda", "13"], 3, "envbuild plan"),
    ],
)
def test_a_suggested_command_is_for_the_same_machine(
    argv: list[str],
    code: int,
    kept: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "my host.json"
    old = replace(made("linux"), gpus=(replace(RTX, name="GTX 1080 Ti", cc="6.1"),))
    file.write_bytes(dump(replace(old, os=Os(id="fedora42", arch="x86_64"))))
    assert run([*argv, "--host", str(file)]) == code
    said = "".join(capfd.readouterr())
    (command,) = [line for line in said.splitlines() if f"--host '{file}'" in line]
    assert kept in command
    again = shlex.split(command[command.index("envbuild plan") :])[1:]
    assert run([*again, "--json"]) == 0


def test_a_machine_without_a_card_keeps_the_flags(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "no card.json"
    file.write_bytes(dump(replace(made("linux"), gpus=())))
    assert run(["plan", "--where", "host", "--feature", "bf16", "--host", str(file)]) == 4
    fix = f"envbuild plan --cc 9.0 --feature bf16 --where host --host '{file}'"
    assert fix in capfd.readouterr().err


def test_another_c_library_is_that_of_another_system() -> None:
    """Pascal needs an old toolkit, and that an old C library: a newer one is no way."""
    here = made("linux", gpus=(replace(RTX, cc="6.1"),), os=Os(id="fedora42", arch="x86_64"))
    whys = [step.why for step in ask(host=here, where="host").findings[0].steps]
    assert any("older C library: ubuntu24.04 has glibc 2.39" in why for why in whys)
    assert any(why.startswith("without --where host") for why in whys)
    assert not any("newer" in why or "this machine" in why for why in whys)


def test_a_system_without_base_images_is_one_reason() -> None:
    plan = ask("8.6", base_os="fedora42")
    assert [f.says for f in plan.findings[1:]] == ["no base image of fedora42 is in these matrices"]
    assert plan.findings[0].steps[0].argv == ("envbuild", "plan", "--cc", "8.6")
    assert ask("8.6", base_os="fedora42", where="host", cuda="13").outcome != "refuse"


@pytest.mark.parametrize(
    ("base_os", "gcc", "ccbin"),
    [
        ("almalinux9", None, "/usr/bin/g++"),
        ("ubuntu24.04", "13.3.0", "/usr/bin/g++"),
        ("ubuntu24.04", "15.1.0", "/usr/bin/g++-14"),
    ],
)
def test_the_machines_own_compiler_has_its_plain_name(
    base_os: str, gcc: str | None, ccbin: str
) -> None:
    plan = ask("6.1", base_os=base_os, gcc=gcc, where="host", cuda="12.9")
    assert plan.env.get("NVCC_CCBIN") == ccbin


@pytest.mark.parametrize(
    ("os", "cuda", "outcome", "finding"),
    [
        ("centos7", "12.3", "refuse", "takes gcc 6 to 12; centos7 has gcc 4"),
        ("ubi7", "12.1", "refuse", "takes gcc 6 to 12; ubi7 has gcc 4"),
        ("centos7", "11.8", "warn", "whether CUDA 11.8 takes gcc 4, that of centos7, is not known"),
        ("cm2", "12.9", "warn", "the compiler of cm2 is not in the matrices"),
        ("rockylinux8", "12.3", "ok", ""),
        ("rockylinux8", "11.8", "ok", ""),
    ],
)
def test_the_gcc_of_a_base_is_at_the_toolkits_floor(
    os: str, cuda: str, outcome: str, finding: str
) -> None:
    plan = ask("8.6", base_os=os, cuda=cuda)
    assert plan.outcome == outcome
    assert not finding or any(f.id == "host-compiler" and finding in f.says for f in plan.findings)


def test_what_compiles_nothing_takes_a_base_with_an_old_compiler() -> None:
    plan = ask("8.6", base_os="centos7", cuda="12.3", flavour="runtime")
    assert plan.outcome != "refuse"
    assert any("centos7 gets no updates since 2024-06" in f.says for f in plan.findings)


def test_every_base_has_an_end_or_says_that_none_is_known() -> None:
    bases = {place.os for place in table().places if place.os is not None} - {"l4t"}
    assert {os for os in bases if os not in table().oses or not table().oses[os].ends} == set()
    without = tuple(os for os in load().oses if os.id != "rockylinux9")
    unknown = replace(load(), oses=without, digest="without rockylinux9")
    bare = plan_of(target("8.6", base_os="rockylinux9"), unknown)
    assert isinstance(bare, Plan)
    assert bare.outcome == "warn"
    assert {"host-compiler", "os-end-unknown"} <= ids(bare, "warn")
