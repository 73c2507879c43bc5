"""Real engines certify real images: a runtime stage, and each way in which one can be wrong.

The images are made here of Debian and this machine's own libcudart; none is a vendor's.
"""

import json
import shutil
from pathlib import Path

import pytest

from envbuild import data
from envbuild.cli.app import run as command
from envbuild.engines.base import Engine, RunSpec
from envbuild.errors import EnvbuildError, MachineError, StaleError
from envbuild.io.proc import Completed
from envbuild.values.host import Gpu, Host
from tests import toolkit
from tests.integration.certifying import RUNTIME, Make, certify, check

pytestmark = [
    pytest.mark.engine,
    toolkit.needed,
]
PREBUILT = data.folder("kernels") / "prebuilt" / "x86_64"


def test_a_runtime_stage(engine: Engine, make: Make) -> None:
    image = make(RUNTIME, libcudart__so__13=toolkit.CUDART.read_bytes())
    found = certify(engine, image)
    assert found.exit == 0, [c.reason for s in found.suites for c in s.checks]
    assert [c.id.split(".")[1] for c in found.suites[0].checks if c.core] == [
        "sass",
        "loader",
        "no-driver",
    ]
    # An engine that keeps manifests knows the digest before a push; the others do not.
    if image.manifest:
        assert (found.subject.kind, found.subject.digest) == ("manifest", image.manifest)
    else:
        assert (found.subject.kind, found.subject.digest) == ("config", image.config)
        assert found.subject.diff_ids == image.diff_ids
    assert "/usr/lib/x86_64-linux-gnu/libcudart.so.13" in check(found, "loader").value
    assert all(c.red for s in found.suites for one in s.checks for c in one.controls)


def test_a_driver_in_the_image(engine: Engine, make: Make) -> None:
    more = "COPY libcuda.so.1 /usr/lib/x86_64-linux-gnu/\nRUN ldconfig\n"
    image = make(
        RUNTIME.replace("{more}", more),
        libcudart__so__13=toolkit.CUDART.read_bytes(),
        libcuda__so__1=(PREBUILT / "planted.so").read_bytes(),
    )
    found = certify(engine, image)
    assert found.exit == 6
    assert check(found, "no-driver").verdict == "fail"
    assert "libcuda.so.1" in check(found, "no-driver").value


PLANTED = (PREBUILT / "planted.so").read_bytes()
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
DRIVERS = {
    # A folder of stubs on the loader's path, where the library has its bare name.
    "libcuda.so": ("COPY driver /opt/stubs/libcuda.so\nENV LD_LIBRARY_PATH=/opt/stubs\n", PLANTED),
    # What `docker commit` of a container with a GPU leaves: empty mount points.
    "libnvidia-ml.so.1": (f"COPY driver {LIBRARIES}/libnvidia-ml.so.1\n", b""),
    "libnvidia-ptxjitcompiler.so.1": (
        f"COPY driver {LIBRARIES}/libnvidia-ptxjitcompiler.so.1\n",
        PLANTED[:3000],
    ),
    "libnvidia-nvvm.so.4": (
        (
            "COPY driver /usr/lib/wsl/lib/libnvidia-nvvm.so.4\n"
            "RUN echo /usr/lib/wsl/lib >/etc/ld.so.conf.d/wsl.conf && ldconfig\n"
        ),
        PLANTED,
    ),
}


@pytest.mark.parametrize("name", DRIVERS)
def test_what_is_left_of_a_driver_in_the_image(engine: Engine, make: Make, name: str) -> None:
    more, content = DRIVERS[name]
    image = make(
        RUNTIME.replace("{more}", more),
        libcudart__so__13=toolkit.CUDART.read_bytes(),
        driver=content,
    )
    found = certify(engine, image)
    assert name in check(found, "no-driver").value
    assert (check(found, "no-driver").verdict, found.exit) == ("fail", 6)


@pytest.mark.parametrize(
    ("label", "code"),
    [("envbuild.cuda=13.5", 6), ("envbuild.cc=6.1,12.0", 6), ("envbuild.stage=devel", 6)],
)
def test_labels_that_promise_what_is_not_there(
    engine: Engine, make: Make, label: str, code: int
) -> None:
    more = f"LABEL {label}\n"
    image = make(RUNTIME.replace("{more}", more), libcudart__so__13=toolkit.CUDART.read_bytes())
    try:
        found = certify(engine, image).exit
    except EnvbuildError as e:
        found = e.exit_code
    assert found == code


def test_a_cut_library_in_the_image(engine: Engine, make: Make) -> None:
    whole = toolkit.CUDART.read_bytes()
    image = make(RUNTIME.replace("RUN ldconfig\n", ""), libcudart__so__13=whole[: len(whole) // 2])
    found = certify(engine, image)
    assert found.exit == 6
    assert check(found, "loader").verdict == "fail"


def test_an_image_of_nothing_but_a_static_program(engine: Engine, make: Make) -> None:
    image = make("FROM scratch\nCOPY steps /steps\n", steps=(PREBUILT / "steps").read_bytes())
    found = certify(engine, image, cc=("9.0",))
    assert found.exit == 6
    assert "no glibc loader" in check(found, "loader").reason
    assert "no compiler" in check(found, "compiles").reason


def test_a_gpu_that_does_not_come_in(engine: Engine, make: Make) -> None:
    """A made host says that there is a GPU; this machine has none to give."""
    image = make(RUNTIME, libcudart__so__13=toolkit.CUDART.read_bytes())
    host = Host(kind="made", gpus=(Gpu(name="made", uuid="GPU-made", cc="9.0"),))
    try:
        code = certify(engine, image, host, require=("smoke",), access="cdi", trusted=True).exit
    except EnvbuildError as e:
        code = e.exit_code
    assert code == 4


def test_an_image_that_is_replaced_meanwhile(
    engine: Engine, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = make(RUNTIME, libcudart__so__13=toolkit.CUDART.read_bytes())
    real = engine.run

    def replaced(ref: str, spec: RunSpec) -> Completed:
        make("FROM scratch\nCOPY steps /steps\n", steps=(PREBUILT / "steps").read_bytes())
        return real(ref, spec)

    monkeypatch.setattr(engine, "run", replaced)
    # A store that keeps no image without a name has none to run any more.
    with pytest.raises((StaleError, MachineError), match=r"changed while|has no image"):
        certify(engine, image)


def test_the_command(
    engine: Engine,
    make: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    image = make(RUNTIME, libcudart__so__13=toolkit.CUDART.read_bytes())
    monkeypatch.chdir(tmp_path)
    argv = ["certify", image.ref, "--engine", engine.name, "--require", "toolchain"]
    assert command([*argv, "--junit", "c.xml", "--json"]) == 0
    out = json.loads(capfd.readouterr().out)
    assert out == json.loads((tmp_path / ".envbuild/certificate.json").read_text())
    assert (tmp_path / "c.xml").read_text().startswith("<?xml")
    # No GPU here: the default says so, names the choice, and still leaves a certificate.
    if shutil.which("nvidia-smi") is None:
        assert command(["certify", image.ref, "--engine", engine.name, "-o", "none.json"]) == 4
        shown = capfd.readouterr().out
        assert "there is no NVIDIA GPU here" in shown
        assert "--require toolchain" in shown
        assert json.loads((tmp_path / "none.json").read_text())["exit"] == 4
