"""Real programs that hang, flood or crash, through the real runner."""

import sys
import time
from pathlib import Path

import pytest

from envbuild.host import containers
from envbuild.host.detect import detect
from envbuild.host.look import Look, run_limited
from envbuild.io.proc import run
from tests.host.fakes import only, script


def alive(marker: str) -> list[str]:
    return [
        p.parent.name for p in Path("/proc").glob("[0-9]*/cmdline") if marker.encode() in _read(p)
    ]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def look(folder: Path) -> Look:
    return Look(Path("/"), only(folder), "Linux", run_limited)


def test_hanging_nvidia_smi_is_ended_with_its_children(tmp_path: Path) -> None:
    # Ignores TERM, and has a child that does too; the odd number is what we look for after.
    script(tmp_path, "nvidia-smi", "trap '' TERM\nsleep 7654.125 &\nsleep 7654.125")
    start = time.monotonic()
    host = detect(environ=only(tmp_path))
    assert time.monotonic() - start < 30
    says = [p.says for p in host.probes if p.name == "nvidia-smi"]
    assert says == [
        f"{tmp_path}/nvidia-smi: no answer in time; ENVBUILD_PROBE_TIMEOUT=20 waits 20 seconds"
    ]
    assert alive("7654.125") == []


def test_one_command_is_over_within_the_limit(tmp_path: Path) -> None:
    """Other programs can take the processor from us, so one run of four has to show it."""
    program = script(tmp_path, "slow", "trap '' TERM\nsleep 60")
    seconds = [9.0]
    while len(seconds) < 5 and min(seconds) > 2.0:
        done = look(tmp_path).run(str(program))
        assert done.timed_out
        seconds.append(done.seconds)
    assert min(seconds) <= 2.0


def test_hanging_docker_is_a_fact(tmp_path: Path) -> None:
    script(tmp_path, "docker", "sleep 60")
    facts = containers.docker(look(tmp_path), f"{tmp_path}/docker", ())
    assert (facts.answers, facts.version) == (False, None)
    assert "no answer in time" in facts.says


def test_podman_under_the_name_of_docker(tmp_path: Path) -> None:
    """Made: the shape of ``podman info --format '{{json .}}'`` (4.3.1, recorded keys)."""
    script(tmp_path, "docker", """echo '{"host": {"arch": "amd64"}, "version": {}}'""")
    facts = containers.docker(look(tmp_path), f"{tmp_path}/docker", ())
    assert not facts.answers
    assert "podman under the name of docker" in facts.says


def test_docker_without_permission(tmp_path: Path) -> None:
    """Made: what a client prints with ``{{json .}}`` when the socket is not ours (docker 28)."""
    error = "permission denied while trying to connect to the docker API at unix:///run/docker.sock"
    script(tmp_path, "docker", f"""echo '{{"ServerErrors": ["{error}"], "ClientInfo": {{}}}}'""")
    facts = containers.docker(look(tmp_path), f"{tmp_path}/docker", ())
    assert (facts.answers, facts.says) == (False, error)


def test_time_limit_can_be_raised(tmp_path: Path) -> None:
    program = script(tmp_path, "slow", "sleep 2.5; echo done")
    patient = Look(
        Path("/"), only(tmp_path) | {"ENVBUILD_PROBE_TIMEOUT": "60"}, "Linux", run_limited
    )
    assert patient.run(str(program)).out == "done\n"


def test_ten_megabytes_are_cut(tmp_path: Path) -> None:
    script(tmp_path, "nvidia-smi", "head -c 10000000 /dev/urandom")
    script(tmp_path, "gcc", "head -c 10000000 /dev/zero | tr '\\0' 1")
    host = detect(environ=only(tmp_path))
    assert [p.name for p in host.probes if p.name == "nvidia-smi"]
    assert all(len(p.says) < 500 for p in host.probes)
    assert next(t for t in host.compilers if t.path == f"{tmp_path}/gcc").version is None


def test_endless_output_costs_no_memory() -> None:
    done = run(["yes"], timeout=0.5, limit=4096, grace=0.1)
    assert done.timed_out
    assert len(done.out) < 5000


def test_parent_that_leaves_a_child_with_our_pipe(tmp_path: Path) -> None:
    program = script(tmp_path, "leaves", "sleep 7655.25 &\necho hi")
    done = run([str(program)], timeout=60)
    assert (done.rc, done.out, done.timed_out) == (0, "hi\n", False)
    assert alive("7655.25") == []


def test_commands_speak_english_and_see_every_gpu(tmp_path: Path) -> None:
    program = script(tmp_path, "says", 'echo "$LC_ALL ${CUDA_VISIBLE_DEVICES-unset}"')
    environ = only(tmp_path) | {"LC_ALL": "de_DE.UTF-8", "CUDA_VISIBLE_DEVICES": "0"}
    assert Look(Path("/"), environ, "Linux", run_limited).run(str(program)).out == "C unset\n"


def test_programs_of_a_foreign_root_are_not_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    script(tmp_path / "usr/bin", "nvidia-smi", f"touch {ran}")
    host = detect(tmp_path, environ={"PATH": "/usr/bin"}, system="Linux")
    assert not ran.exists()
    assert "not run" in next(p.says for p in host.probes if p.name == "nvidia-smi")


def test_relative_path_entries_are_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path, "nvidia-smi", "echo trap")
    monkeypatch.chdir(tmp_path)
    assert look(Path(":.:")).find("nvidia-smi") == ()


def test_modules_of_the_current_folder_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in driver sign makes the NVML child start; it must not take this folder's modules."""
    for name in ("pynvml", "ctypes", "msgspec"):
        (tmp_path / f"{name}.py").write_text("open('imported', 'w')")
    sign = tmp_path / "root/dev/nvidiactl"
    sign.parent.mkdir(parents=True)
    sign.touch()
    monkeypatch.chdir(tmp_path)
    host = detect(tmp_path / "root", environ={"PATH": "/bin"}, runner=run_limited, system="Linux")
    assert not (tmp_path / "imported").exists()
    assert any(p.name == "nvml" and "libnvidia-ml" in p.says for p in host.probes), host.probes


def test_this_machine(tmp_path: Path) -> None:
    before = sorted(Path.cwd().iterdir())
    host = detect()
    assert host.platform in {"linux", "wsl2", "jetson"}
    assert host.os.arch in {"x86_64", "aarch64"}
    assert host.python
    assert host.python.path == sys.executable
    assert host.os.glibc
    assert sorted(Path.cwd().iterdir()) == before


def test_file_that_would_block_is_not_opened(tmp_path: Path) -> None:
    import os

    (tmp_path / "etc").mkdir()
    os.mkfifo(tmp_path / "etc/os-release")
    os.mkfifo(tmp_path / "etc/nv_tegra_release")
    assert detect(tmp_path, environ={}, system="Linux").os.id is None
