"""Shell and Python inside the templates, run: what they accept and what they refuse."""

import shlex
import shutil
import sys
from pathlib import Path

import pytest

from envbuild.io.proc import Completed, run
from envbuild.lock.repository import Repository
from envbuild.render import templates
from envbuild.render.view import add_components, dummy
from envbuild.values.lock import Key
from tests.render import locks, plans
from tests.render.test_context import dockerfile


def torch_check(tmp_path: Path, version: str, cuda: str) -> Completed:
    """The build step that looks at torch, with a made torch of this version."""
    package = tmp_path / "torch"
    package.mkdir()
    lines = f"__version__ = {version!r}\nclass version:\n    cuda = {cuda!r}\n"
    (package / "__init__.py").write_text(lines)
    step = next(
        line
        for line in dockerfile(plans.TORCH, locks.TORCH).splitlines()
        if "import sys, torch" in line
    )
    words = shlex.split(step)
    argv = [sys.executable, *words[words.index("-c") :]]
    return run(argv, timeout=60, env={"PYTHONPATH": str(tmp_path)})


def test_the_torch_that_was_planned_passes(tmp_path: Path) -> None:
    assert torch_check(tmp_path, "2.14.1+cu126", "12.6").rc == 0


@pytest.mark.parametrize(("version", "cuda"), [("2.15.0+cu126", "12.6"), ("2.14.1", "13.0")])
def test_another_torch_stops_the_build(tmp_path: Path, version: str, cuda: str) -> None:
    done = torch_check(tmp_path, version, cuda)
    assert done.rc == 1
    assert "the plan says ['2.14.1', '12.6']" in done.err


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "deb http://d.example/debian trixie main\n",
            "deb http://d.example/debian trixie main contrib non-free\n",
        ),
        (
            "deb [signed-by=/k] http://d.example/debian trixie main contrib\n",
            "deb [signed-by=/k] http://d.example/debian trixie main contrib non-free\n",
        ),
        (
            "Types: deb\nURIs: http://d.example\nComponents: main\n",
            "Types: deb\nURIs: http://d.example\nComponents: main contrib non-free\n",
        ),
        ("# deb http://d.example sid main\n", "# deb http://d.example sid main\n"),
    ],
)
def test_components_are_turned_on_where_the_archive_is(
    tmp_path: Path, before: str, after: str
) -> None:
    path = tmp_path / "sources"
    path.write_text(before)
    command = add_components(("main", "contrib", "non-free"))
    for _ in range(2):  # a second time changes nothing
        assert run(["sh", "-c", f'{command} "$0"', str(path)], timeout=60).rc == 0
        assert path.read_text() == after


def test_the_user_of_an_image_takes_the_place_of_another(tmp_path: Path) -> None:
    passwd = tmp_path / "passwd"
    passwd.write_text("root:x:0:0::/root:/bin/sh\nubuntu:x:1000:1000::/home/ubuntu:/bin/sh\n")
    lines = dockerfile(plans.WHEELS, None).splitlines()
    step = next(line for line in lines if ":1000:/d" in line)
    command = step.strip().rstrip("\\ ;").replace("/etc/passwd /etc/group", str(passwd))
    assert run(["sh", "-c", command], timeout=60).rc == 0
    assert passwd.read_text() == "root:x:0:0::/root:/bin/sh\n"


def test_the_script_that_asks_apt_is_clean() -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not here")
    layout = plans.DISTRO.layout
    key = Key(fingerprint="A" * 40, file="k.pub", sha256="9" * 64)
    vendor = Repository("debian12", "http://mirror.example/x", key, b"", ("Package: cuda",))
    script = templates.fill(
        "apt-resolve.sh.j2",
        components=layout.components,
        add_components=add_components(layout.components),
        dummy=dummy(layout.dummies),
        packages=plans.DISTRO.apt,
        vendor=vendor,
        key="key.asc",
    )
    done = run(["shellcheck", "-s", "sh", "-"], timeout=60, stdin=script)
    assert done.out == ""
