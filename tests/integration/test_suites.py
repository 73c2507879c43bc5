"""Suites after smoke in a real docker: users, mounts, devices; driver and tools are made.

The GPU is a CDI device of the newest docker: it mounts the libcuda and libnccl of
`tests/certify/fake_*.c` and says how they behave. The image is Debian with `made_tool.sh` under the
names of debuggers and profilers. Nothing measured here is a figure.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuild.certify import run
from envbuild.certify.sessions import TOOLS
from envbuild.engines.docker import DockerEngine
from envbuild.io.net import Net
from envbuild.values.certificate import Certificate, Check
from envbuild.values.codec import replace
from envbuild.values.host import Host, Mig
from envbuild.values.image import BuildContext, File, Image
from tests import toolkit
from tests.certify import here
from tests.integration.conftest import service

pytestmark = [pytest.mark.engine, toolkit.needed]

FIRST = here.HOST.gpus[0]
SECOND = replace(FIRST, uuid="GPU-fafafafa-fafa-fafa-fafa-fafafafafafb")
TWO = replace(here.HOST, gpus=(FIRST, SECOND))
INSTANCES = tuple(f"MIG-11111111-1111-1111-1111-1111111111{0x11 + n:02x}" for n in range(2))
DIVIDED = replace(here.HOST, gpus=(replace(FIRST, mig=Mig(enabled=True, instances=INSTANCES)),))
CERTIFY = Path(here.__file__).parent
DOCKERFILE = """FROM {base}
COPY libcudart.so.13 /usr/lib/x86_64-linux-gnu/
RUN ldconfig
COPY tool /usr/local/cuda/bin/ncu
RUN cd /usr/local/cuda/bin && for t in {tools}; do [ $t = ncu ] || cp ncu $t; done
LABEL envbuild.stage=runtime envbuild.promise=90 envbuild.cc=9.0
ENV MADE_TOOLS={how}
USER 1234:1234
"""


@pytest.fixture(scope="module")
def gpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """CDI devices: the whole machine with two GPUs, the first of them, two MIG instances."""
    folder = here.fake_libcuda(tmp_path_factory.mktemp("driver"))
    argv = ["gcc", "-O1", "-shared", "-fPIC", "-o", str(folder / "libnccl.so.2")]
    subprocess.run([*argv, CERTIFY / "fake_nccl.c"], check=True)
    for path in (folder, *folder.parents):
        if path.stat().st_uid == os.getuid() and path != Path("/"):
            path.chmod(path.stat().st_mode | 0o055)
    mount = {"hostPath": str(folder), "containerPath": "/opt/made", "options": ["ro", "rbind"]}

    def device(name: str, how: str) -> dict[str, object]:
        env = ["LD_LIBRARY_PATH=/opt/made", f"ENVBUILD_FAKE={how}"]
        return {"name": name, "containerEdits": {"mounts": [mount], "env": env}}

    # Both GPUs by name: the second one's edits win.
    devices = [device("all", ""), device(str(FIRST.uuid), ""), device(str(SECOND.uuid), "gpus=2")]
    devices += [device(name, f"mig={n}") for n, name in enumerate(INSTANCES)]
    spec = {"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": devices}
    file = Path(service("ENVBUILD_TEST_NEWEST_CDI")) / "made-suites.json"
    file.write_text(json.dumps(spec))
    yield
    file.unlink()


@pytest.fixture
def engine(newest: None, gpus: None) -> Iterator[DockerEngine]:
    for _ in range(50):
        if "cdi" in DockerEngine().probe().access:
            break
        time.sleep(0.1)
    yield DockerEngine()
    argv = ["docker", "image", "rm", "envbuild-test/suites:1", "envbuild-test/suites-none:1"]
    subprocess.run(argv, check=False, capture_output=True)


def made(engine: DockerEngine, base: str, registry: str, how: str) -> Image:
    tool = (CERTIFY / "made_tool.sh").read_bytes()
    text = DOCKERFILE.format(base=base, tools=" ".join(TOOLS), how=how)
    context = BuildContext(
        files=(
            File(path="Dockerfile", data=text.encode()),
            File(path="tool", data=tool, executable=True),
            File(path="libcudart.so.13", data=toolkit.CUDART.read_bytes()),
        ),
        platform="linux/amd64",
        base=base,
        bases=(base,),
    )
    return engine.build(context, "envbuild-test/suites:1", Net(registry_mirror=registry))


def certify(engine: DockerEngine, image: Image, host: Host, *require: str) -> Certificate:
    return run.certify(
        engine, image, host=host, policy=run.Policy(require=require, also=("smoke",), access="cdi")
    )


def checks(found: Certificate) -> dict[str, Check]:
    return {check.id: check for suite in found.suites for check in suite.checks}


def passed(found: Certificate, suite: str) -> bool:
    return next(one for one in found.suites if one.name == suite).verdict == "pass"


@pytest.mark.parametrize("how", ["", "root"])
def test_all_of_them_on_two_gpus(engine: DockerEngine, base: str, registry: str, how: str) -> None:
    image = made(engine, base, registry, how)
    found = certify(engine, image, TWO, "tools", "multi")
    assert found.exit == 0, [c.reason for c in checks(found).values() if c.verdict != "pass"]
    assert checks(found)["tools.works"].value == "cuda-gdb, nsys, ncu"
    assert checks(found)["multi.sum"].inputs.get("NCCL") == "2.28.3 /opt/made/libnccl.so.2"


def test_each_mig_instance_comes_in_by_its_name(
    engine: DockerEngine, base: str, registry: str
) -> None:
    found = certify(engine, made(engine, base, registry, ""), DIVIDED, "multi")
    mig = checks(found)["multi.mig"]
    assert (mig.verdict, mig.value, found.exit) == ("pass", "2 of 2", 0), mig.reason


def test_a_device_that_the_engine_cannot_give_keeps_the_rest(
    engine: DockerEngine, base: str, registry: str
) -> None:
    lost = replace(SECOND, uuid="GPU-00000000-0000-0000-0000-000000000000")
    host = replace(here.HOST, gpus=(FIRST, lost))
    found = certify(engine, made(engine, base, registry, ""), host, "multi")
    assert found.exit == 4
    assert "no container came up" in checks(found)["multi.copies"].reason
    assert passed(found, "smoke")


def test_a_tool_that_ends_whatever_it_can_reach(
    engine: DockerEngine, base: str, registry: str
) -> None:
    found = certify(engine, made(engine, base, registry, "killer"), here.HOST, "tools")
    assert found.exit == 8
    assert checks(found)["tools.ncu"].verdict == "inconclusive"
    assert passed(found, "smoke")


def test_a_tool_that_fills_the_disk(
    engine: DockerEngine, base: str, registry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = made(engine, base, registry, "fill")
    small = tmp_path / "small"
    small.mkdir()
    size = "size=24m"
    if subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", small], check=False).returncode:
        pytest.skip("no small disk can be mounted")
    try:
        monkeypatch.setattr("tempfile.tempdir", str(small))
        found = certify(engine, image, here.HOST, "tools")
    finally:
        subprocess.run(["umount", small], check=True)
    assert found.exit == 8
    ncu = checks(found)["tools.ncu"]
    assert (ncu.verdict, "No space left on device" in ncu.reason) == ("inconclusive", True)
    assert passed(found, "smoke")


def test_an_image_without_a_shell_a_python_or_a_tool(
    engine: DockerEngine, base: str, registry: str
) -> None:
    steps = (CERTIFY.parents[1] / "kernels/prebuilt/x86_64/steps").read_bytes()
    text = "FROM scratch\nCOPY steps /steps\nLABEL envbuild.promise=90 envbuild.cc=9.0\n"
    context = BuildContext(
        files=(
            File(path="Dockerfile", data=text.encode()),
            File(path="steps", data=steps, executable=True),
        ),
        platform="linux/amd64",
    )
    image = engine.build(context, "envbuild-test/suites-none:1", Net(registry_mirror=registry))
    for suite in ("correct", "fast", "torch", "tools", "multi"):
        found = certify(engine, image, TWO, suite)
        assert found.exit in {6, 8}, suite
        core = [c for n, c in checks(found).items() if n.startswith(f"{suite}.") and c.core]
        assert core, suite
        assert all(check.verdict != "pass" and check.reason for check in core), suite
