"""What is shipped: wheel, sdist and editable install, each used outside the repository."""

import json
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from envbuild.io import pip
from envbuild.io.net import Net

ROOT = Path(__file__).resolve().parents[2]
TREES = ("templates", "kernels", "matrices")
pytestmark = pytest.mark.slow


def run(argv: list[str], cwd: Path) -> str:
    """The output of a command that must succeed, in an environment that knows no repository."""
    env = {k: v for k, v in pip.environment(Net()).items() if k != "PYTHONPATH"}
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{argv}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def tracked(*folders: str) -> set[str]:
    argv = ["git", "-C", str(ROOT), "ls-files", "-z", *folders]
    out = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    return {name for name in out.split("\0") if name and (ROOT / name).exists()}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--no-isolation", "-o", str(folder), str(ROOT)], folder)
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    return next(dist.glob("*.whl"))


@pytest.fixture(scope="module")
def sdist(dist: Path) -> Path:
    return next(dist.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def needs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The locked run-time needs and nothing else."""
    folder = tmp_path_factory.mktemp("needs")
    flags = ["--quiet", "--only-binary=:all:", "--require-hashes", "--target", str(folder)]
    lock = str(ROOT / "requirements" / "run.txt")
    run([*pip.command(), "install", *flags, "-r", lock], folder)
    return folder


@pytest.fixture
def installed(tmp_path: Path, needs: Path) -> Callable[[Path], Path]:
    """Installs a wheel into a clean environment; gives its ``bin``."""

    def install(file: Path) -> Path:
        home = tmp_path / "venv"
        venv.create(home, with_pip=False)
        site = next(home.glob("lib/python*/site-packages"))
        (site / "needs.pth").write_text(f"{needs}\n")
        flags = ["--quiet", "--no-deps", "--no-index"]
        python = str(home / "bin" / "python")
        run([*pip.command(), "--python", python, "install", *flags, str(file)], tmp_path)
        return home / "bin"

    return install


def use(bin_: Path, empty: Path) -> tuple[Path, Path]:
    """Plan with it in an empty folder; where the package and its matrices are."""
    empty.mkdir()
    plan = json.loads(run([str(bin_ / "envbuild"), "plan", "--cc", "6.1", "--json"], empty))
    assert plan["cuda"].startswith("12.9")
    assert run([str(bin_ / "envbuild"), "--version"], empty).startswith("envbuild ")
    code = (
        "import envbuild, envbuild.data as d\n"
        "print(envbuild.__file__, *(d.folder(t) for t in ('matrices', 'templates', 'kernels')))"
    )
    package, *data = run([str(bin_ / "python"), "-c", code], empty).split()
    assert all(any(Path(folder).iterdir()) for folder in data)
    assert list(empty.iterdir()) == []
    return Path(package), Path(data[0])


def test_the_wheel_works_anywhere(
    wheel: Path, installed: Callable[[Path], Path], tmp_path: Path
) -> None:
    package, data = use(installed(wheel), tmp_path / "empty")
    assert tmp_path in package.parents
    assert package.parent in data.parents


def test_the_sdist_makes_the_same_wheel(
    sdist: Path, wheel: Path, installed: Callable[[Path], Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    flags = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "-w", str(out)]
    run([*pip.command(), "wheel", *flags, str(sdist)], tmp_path)
    again = next(out.glob("*.whl"))
    with zipfile.ZipFile(again) as one, zipfile.ZipFile(wheel) as other:
        assert sorted(one.namelist()) == sorted(other.namelist())
    package, _ = use(installed(again), tmp_path / "empty")
    assert tmp_path in package.parents


def test_an_editable_install_reads_the_checkout(
    installed: Callable[[Path], Path], tmp_path: Path
) -> None:
    code = "import sys, hatchling.build as b; print(b.build_editable(sys.argv[1]))"
    name = run([sys.executable, "-c", code, str(tmp_path)], ROOT).split()[-1]
    package, data = use(installed(tmp_path / name), tmp_path / "empty")
    assert package.parent == ROOT / "envbuild"
    assert data == ROOT / "matrices"


def test_the_wheel_ships_what_is_tracked_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {n for n in archive.namelist() if ".dist-info/" not in n}
        for name in tracked(*TREES):
            assert archive.read(f"envbuild/_data/{name}") == (ROOT / name).read_bytes()
    assert names == {f"envbuild/_data/{n}" for n in tracked(*TREES)} | tracked("envbuild")
    assert "envbuild/py.typed" in names
    assert "envbuild/schemas/plan.json" in names


def test_the_sdist_ships_what_is_tracked(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {n.split("/", 1)[1] for n in archive.getnames()}
    whole = tracked("envbuild", *TREES) | {"LICENSE", "README.md", "CHANGELOG.md"}
    assert names == whole | {"pyproject.toml", "PKG-INFO", ".gitignore"}


def test_a_stranger_s_folder_is_never_taken_for_ours(
    wheel: Path, installed: Callable[[Path], Path], tmp_path: Path
) -> None:
    bin_ = installed(wheel)
    site = next((bin_.parent / "lib").glob("python*/site-packages"))
    (site / "envbuild" / "_data" / "matrices").rename(site / "matrices")
    code = "import envbuild.data as d; d.folder('matrices')"
    argv = [str(bin_ / "python"), "-c", code]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "has no matrices" in done.stderr
