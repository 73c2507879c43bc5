"""``envbuild up`` from an empty folder to a certificate, on a real docker 20.10: two toolkits.

The images are big (5 GB unpacked for Debian's toolkit); each is made once a session.
"""

import base64
import subprocess

import pytest

from envbuild.certify import sass
from envbuild.certify.suites import SUITES
from envbuild.values.codec import digest, dump
from tests.integration.corridor import Cli, NewCli
from tests.integration.rights import beyond_base

pytestmark = [pytest.mark.engine, pytest.mark.slow]

PROGRAM = """\
#include <cstdio>
#include <cuda_runtime.h>
__global__ void add(float *x) { x[0] += 1.0f; }
int main() {
  int n = 0;
  std::printf("%s", cudaGetErrorName(cudaGetDeviceCount(&n)));
  add<<<1, 1>>>(nullptr);
}
"""
DRIVERS = "ldconfig -p | grep -E 'lib(cuda|nvidia-ml|nvidia-ptxjitcompiler)[.]so' || echo none"


@pytest.fixture(scope="session", params=["distro", "wheels"])
def walked(request: pytest.FixtureRequest) -> Cli:
    """Each corridor in turn."""
    cli: Cli = request.getfixturevalue(request.param)
    return cli


def compiled(cli: Cli, gencode: str, look: str) -> str:
    """What ``look`` prints beside a program ``a`` that the image's own compiler made."""
    write = f"cd /tmp; cat > a.cu <<'END'\n{PROGRAM}END\n"
    return cli.inside(f"{write}nvcc -gencode '{gencode}' -o a a.cu; {look}")


def code(cli: Cli, gencode: str) -> tuple[str, ...]:
    """Targets of the machine code in a program that the image's own compiler made."""
    return sass.targets(base64.b64decode(compiled(cli, gencode, "base64 a")))


def test_up_ends_with_a_certificate_for_what_it_built(walked: Cli) -> None:
    certificate, image, lock = walked.certificate(), walked.image(), walked.lock()
    said = (walked.folder / "up.out").read_text()
    assert "CERTIFIED toolchain" in said
    assert "envbuild run" in said
    assert (certificate.verdict, certificate.exit) == ("pass", 0)
    assert certificate.subject.digest == image.config
    assert certificate.subject.diff_ids == image.diff_ids
    assert certificate.subject.lock == digest(lock) == image.labels.get("envbuild.lock")
    assert lock.plan == digest(walked.plan()) == image.labels.get("envbuild.plan")
    assert certificate.not_run == tuple(name for name in SUITES if name != "toolchain")
    assert all(c.red for s in certificate.suites for k in s.checks for c in k.controls)


def test_its_compiler_makes_code_for_the_card(walked: Cli) -> None:
    plan = walked.plan()
    (gencode,) = plan.gencode
    assert code(walked, gencode) == plan.promise
    assert compiled(walked, gencode, "./a") == "cudaErrorInsufficientDriver"
    # The control: another target gives other code.
    assert code(walked, "arch=compute_80,code=sm_80") == ("80",)


def test_cuobjdump_sees_the_same_code(distro: Cli) -> None:
    (planned,) = distro.plan().gencode
    for gencode, target in ((planned, "sm_61"), ("arch=compute_80,code=sm_80", "sm_80")):
        seen = compiled(distro, gencode, "cuobjdump -lelf a")
        assert {line.split(".")[-2] for line in seen.splitlines()} == {target}


def test_no_driver_library_is_what_the_loader_finds(walked: Cli) -> None:
    assert walked.inside(DRIVERS) == "none\n"
    assert "libcudart.so" in walked.inside("ldconfig -p")


def test_the_environment_says_where_the_toolkit_and_its_compiler_are(walked: Cli) -> None:
    env = dict(walked.image().env)
    assert env["NVIDIA_VISIBLE_DEVICES"] == "all"
    assert env["NVIDIA_DRIVER_CAPABILITIES"] == "compute,utility"
    version = walked.inside("$CUDA_HOME/bin/nvcc --version")
    cuda = (walked.plan().cuda or "").split(".")
    assert f"release {cuda[0]}.{cuda[1]}" in version
    gcc = walked.plan().host_compiler
    assert gcc is not None
    assert walked.inside("$NVCC_CCBIN -dumpversion").strip() == gcc.version
    assert walked.inside("id -u") == "1000\n"


def test_nothing_of_this_network_stays_behind(walked: Cli) -> None:
    registry = walked.mirror.encode()
    history = [walked.docker, "history", "--no-trunc", "--format", "{{.CreatedBy}}"]
    made = subprocess.run([*history, walked.image().ref], check=True, capture_output=True).stdout
    assert b"apt-get" in made
    for text in (made, dump(walked.image()), dump(walked.lock()), dump(walked.certificate())):
        assert registry not in text
        assert b"ca-certificates.crt" not in text
    assert walked.inside("ls /run/secrets 2>/dev/null || true") == ""


def test_a_second_up_does_nothing_again(walked: Cli) -> None:
    before = walked.certificate()
    flags = (walked.folder / "flags").read_text().split()
    done = walked("up", *flags)
    assert done.returncode == 0, done.stderr
    assert "nothing changed since" in done.stderr
    assert walked.certificate() == before


def test_the_runtime_stage_is_certified_as_itself(walked: Cli, new_cli: NewCli) -> None:
    small = new_cli("runtime")
    flags = (walked.folder / "flags").read_text().replace(":1", "-runtime:1").split()
    try:
        done = small("up", *flags, "--target", "runtime")
        assert done.returncode == 0, done.stdout + done.stderr[-4000:]
        certificate = small.certificate()
        assert certificate.subject.digest == small.image().config != walked.image().config
        assert small.inside("command -v nvcc gcc python3 || echo none") == "none\n"
        assert small.inside(DRIVERS) == "none\n"
        assert (small.image().size or 0) < 100 << 20
        assert small.image().user == "1000:1000"
        assert beyond_base(small) == set()
    finally:
        small.drop()
