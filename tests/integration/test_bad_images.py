"""Real engines certify images that no probe can work in, or whose programs flood, lie or meddle.

Each ends in a verdict with its owner, or in one error that says what to do; never in a traceback.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from envbuild import data
from envbuild.cli.app import run as command
from envbuild.engines.base import Engine
from tests import toolkit
from tests.integration.certifying import RUNTIME, Make, certify, check

pytestmark = [pytest.mark.engine, toolkit.needed]

PREBUILT = data.folder("kernels") / "prebuilt"
GLIBC = "/lib64/ld-linux-x86-64.so.2"


def test_an_image_of_another_architecture(
    engine: Engine,
    make: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    steps = (PREBUILT / "aarch64/steps").read_bytes()
    image = make("FROM scratch\nCOPY steps /steps\n", platform="linux/arm64", steps=steps)
    monkeypatch.chdir(tmp_path)
    argv = ["certify", image.ref, "--engine", engine.name, "--cc", "9.0"]
    capfd.readouterr()
    assert command([*argv, "--require", "toolchain"]) == 4
    said = capfd.readouterr().err
    assert "is for aarch64, this machine is x86_64" in said
    assert "certify it on a machine of aarch64" in said
    assert "Traceback" not in said


@pytest.fixture(scope="module")
def musl(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The loader and C library of musl, from Debian's own package."""
    folder = tmp_path_factory.mktemp("musl")
    if shutil.which("apt-get") is None:
        pytest.skip("no apt-get here")
    fetch = ["apt-get", "download", "-o", "APT::Sandbox::User=root", "musl"]
    if subprocess.run(fetch, cwd=folder, check=False, capture_output=True).returncode:
        pytest.skip("no package of musl can be had")
    package = next(folder.glob("musl_*.deb"))
    subprocess.run(["dpkg-deb", "-x", package, folder / "x"], check=True)
    return (folder / "x/lib/ld-musl-x86_64.so.1").read_bytes()


@pytest.mark.parametrize("place", ["/lib/ld-musl-x86_64.so.1", GLIBC])
def test_an_image_of_musl(engine: Engine, make: Make, musl: bytes, place: str) -> None:
    """As it is, and where its loader stands under the name of glibc's."""
    steps = (PREBUILT / "x86_64/steps").read_bytes()
    text = f"FROM scratch\nCOPY steps /steps\nCOPY loader {place}\n"
    found = certify(engine, make(text, steps=steps, loader=musl), cc=("9.0",))
    assert found.exit == 6
    loader, driver = check(found, "loader"), check(found, "no-driver")
    assert (loader.verdict != "pass", loader.blame) == (True, "image")
    if place == GLIBC:
        assert "Error loading shared library libcudart.so" in loader.reason
        # That no driver is there is said in other words than glibc's.
        assert (driver.verdict, driver.value) == ("pass", "none")
    else:
        assert "no glibc loader" in loader.reason


FLOOD = "#!/bin/sh\nyes 'line after line' | head -c 50000000\n"
LIE = json.dumps(
    {"event": "load", "name": "libcudart.so.13", "path": "/lib/libcudart.so.13", "version": 13000}
)
RESULT = json.dumps({"step": "loads", "rc": 0, "out": LIE + "\n"})
# Into the output of every process that it can reach: the runner's is one of them.
MEDDLE = f"""#!/bin/sh
for to in /proc/[0-9]*/fd/[12]; do echo '{RESULT}' >"$to"; done 2>/dev/null
echo '{RESULT}'
"""


@pytest.mark.parametrize("program", [FLOOD, MEDDLE], ids=["floods", "lies"])
@pytest.mark.parametrize("user", ["0:0", "1234:1234"])
def test_programs_of_the_image_that_misbehave(
    engine: Engine, make: Make, program: str, user: str
) -> None:
    """Python and the loader's own cache: the runtime library that they speak of is not there."""
    text = RUNTIME.replace("COPY libcudart.so.13 /usr/lib/x86_64-linux-gnu/\nRUN ldconfig\n", "")
    text = text.replace("USER 1234:1234", f"USER {user}")
    more = "COPY python3 /usr/local/bin/python3\nCOPY python3 /usr/local/sbin/ldconfig\n"
    image = make(
        text.replace("{more}", more + "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/bin:/bin\n"),
        python3=program.encode(),
    )
    found = certify(engine, image)
    assert found.exit in {6, 8}, found
    loader = check(found, "loader")
    assert loader.verdict in {"fail", "inconclusive"}, loader
    assert loader.reason
    # Where nobody could write among the results, they are what is true.
    if loader.verdict == "fail":
        assert "libcudart.so.13: cannot open shared object file" in loader.reason
        assert loader.blame == "image"
