"""Compilers and toolkits on a PATH with wrappers, links and Windows folders."""

from pathlib import Path

from envbuild.host import toolchain
from envbuild.host.look import Look, run_limited
from tests.host.fakes import script


def look(*folders: Path | str, **environ: str) -> Look:
    return Look(
        Path("/"),
        environ | {"PATH": ":".join(map(str, [*folders, "/usr/bin", "/bin"]))},
        "Linux",
        run_limited,
    )


def test_names_of_one_program_are_asked_once(tmp_path: Path) -> None:
    script(tmp_path, "gcc-77", f"echo x >> {tmp_path}/asked\necho 77.1.0")
    (tmp_path / "gcc").symlink_to("gcc-77")
    found = {t.name: t.version for t in toolchain.compilers(look(tmp_path))}
    assert (found["gcc"], found["gcc-77"]) == ("77.1.0", "77.1.0")
    assert (tmp_path / "asked").read_text() == "x\n"


def test_a_wrapper_is_asked_under_each_name(tmp_path: Path) -> None:
    """As ccache: one program that acts by the name it is called by."""
    script(tmp_path, "ccache", "case $0 in *-71) echo 71.1.0 ;; *) echo 72.2.0 ;; esac")
    for name in ("gcc-71", "gcc-72"):
        (tmp_path / name).symlink_to("ccache")
    found = {t.name: t.version for t in toolchain.compilers(look(tmp_path))}
    assert (found["gcc-71"], found["gcc-72"]) == ("71.1.0", "72.2.0")


def test_first_on_path_wins_and_other_tools_are_left_out(tmp_path: Path) -> None:
    script(tmp_path / "a", "g++", "echo 70.0.0")
    script(tmp_path / "b", "g++", "echo 60.0.0")
    script(tmp_path / "b", "gcc-ar-12", "echo 1.0.0")
    found = toolchain.compilers(look(tmp_path / "a", tmp_path / "b"))
    assert [(t.version, t.path) for t in found if t.name == "g++"] == [
        ("70.0.0", f"{tmp_path}/a/g++")
    ]
    assert all(t.name != "gcc-ar-12" for t in found)


def test_windows_folders_of_wsl_are_not_listed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    script(root / "mnt/c/tools", "gcc", "echo 9.9.9")
    inside = Look(root, {"PATH": "/mnt/c/tools"}, "Linux", run_limited)
    assert toolchain.compilers(inside) == ()


def test_cuda_home_is_a_toolkit_and_links_are_no_second_one(tmp_path: Path) -> None:
    home = tmp_path / "my-cuda"
    script(home / "bin", "nvcc", "echo 'Cuda compilation tools, release 12.6, V12.6.85'")
    (tmp_path / "link").symlink_to(home)
    seen = look(CUDA_HOME=str(home), CUDA_PATH=str(tmp_path / "link"))
    compilers, toolkits = toolchain.probe(seen)
    assert [t.version for t in compilers if t.path == f"{home}/bin/nvcc"] == ["12.6.85"]
    mine = [t for t in toolkits if t.path and t.path.startswith(str(tmp_path))]
    assert [(t.version, t.path, t.source) for t in mine] == [
        ("12.6.85", str(home), "nvcc --version")
    ]


def test_folder_without_compiler_or_version_is_no_toolkit(tmp_path: Path) -> None:
    (tmp_path / "cuda/bin").mkdir(parents=True)
    _, toolkits = toolchain.probe(look(CUDA_HOME=str(tmp_path / "cuda")))
    assert all(t.path != str(tmp_path / "cuda") for t in toolkits)
