"""Images built from what was locked and rendered: they compile, link, and hold no driver."""

import gzip
import os
from pathlib import Path

import pytest

from envbuild.engines.base import Mount, RunSpec
from envbuild.engines.docker import DockerEngine
from envbuild.errors import StaleError
from envbuild.io.net import Net
from envbuild.io.proc import Completed
from envbuild.lock.make import lock
from envbuild.render.context import render
from envbuild.values.codec import replace
from envbuild.values.image import BuildContext, Image
from envbuild.values.lock import Lock
from tests.integration.images import saved
from tests.render import plans

pytestmark = [pytest.mark.engine, pytest.mark.slow]

SOURCE = """\
#include <cmath>
#include <cstdio>
#include <cuda_runtime.h>
__global__ void k(float *x) { x[0] = sqrtf(x[1]); }
int main() {
  int n = 0;
  std::printf("%s\\n", cudaGetErrorName(cudaGetDeviceCount(&n)));
  k<<<1, 1>>>(nullptr);
}
"""


@pytest.fixture(scope="module")
def docker() -> DockerEngine:
    return DockerEngine()


@pytest.fixture(scope="module")
def net(registry: str) -> Net:
    return Net(registry_mirror=registry, ca_cert=os.environ.get("SSL_CERT_FILE"))


@pytest.fixture(scope="module")
def locked(docker: DockerEngine, net: Net) -> Lock:
    return lock(plans.WHEELS, net, docker)


@pytest.fixture(scope="module")
def context(locked: Lock) -> BuildContext:
    return render(plans.WHEELS, locked)


@pytest.fixture(scope="module")
def devel(docker: DockerEngine, net: Net, context: BuildContext) -> Image:
    return docker.build(context, "envbuild-test/rendered-devel", net)


@pytest.fixture(scope="module")
def runtime(docker: DockerEngine, net: Net, context: BuildContext, devel: Image) -> Image:
    return docker.build(context, "envbuild-test/rendered-runtime", net, "runtime")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    folder.chmod(0o777)  # written by the image's own user
    (folder / "a.cu").write_text(SOURCE)
    return folder


def sh(docker: DockerEngine, image: Image, script: str, work: Path) -> Completed:
    mount = Mount(source=str(work), target="/work", writable=True)
    spec = RunSpec(argv=("sh", "-ec", script), mounts=(mount,), workdir="/work")
    return docker.run(image.ref, spec)


def test_the_compiler_makes_programs_that_link_either_way(
    docker: DockerEngine, devel: Image, work: Path
) -> None:
    done = sh(docker, devel, "nvcc -arch=sm_90 a.cu -o a && ./a", work)
    assert done.out.strip() == "cudaErrorInsufficientDriver", done.err
    done = sh(docker, devel, "nvcc -cudart shared -arch=sm_90 a.cu -o b && ldd b", work)
    assert "libcudart.so.13 => /usr/local/cuda/lib64/" in done.out, done.err
    plain = "echo 'int main() {}' > c.cc && $NVCC_CCBIN c.cc -lcudart -lnvrtc && id -u"
    done = sh(docker, devel, plain, work)
    assert (done.rc, done.out.strip()) == (0, "1000"), done.err


def test_no_driver_and_nothing_left_behind(docker: DockerEngine, devel: Image, work: Path) -> None:
    done = sh(docker, devel, "ldconfig -p; ls /var/lib/apt/lists /var/cache/apt/archives", work)
    assert "libcuda.so" not in done.out
    assert "libnvidia-ml" not in done.out
    assert ".deb" not in done.out
    assert "Packages" not in done.out
    done = sh(docker, devel, "find /opt/envbuild -name '*.pyc' | wc -l", work)
    assert done.out.strip() == "0"


def test_a_later_pip_keeps_to_the_lock(docker: DockerEngine, devel: Image, work: Path) -> None:
    done = sh(docker, devel, "pip download --no-index nvidia-cuda-runtime==13.5.37", work)
    assert done.rc != 0
    assert "(constraint) nvidia-cuda-runtime==13.0.96" in done.out


def test_the_runtime_stage_is_small_and_runs_what_was_built(
    docker: DockerEngine, devel: Image, runtime: Image, work: Path, tmp_path: Path
) -> None:
    assert sh(docker, devel, "nvcc -cudart shared -arch=sm_90 a.cu -o b", work).rc == 0
    done = sh(docker, runtime, "./b; command -v gcc nvcc python3 || true", work)
    assert done.out.strip() == "cudaErrorInsufficientDriver", done.err
    packed = gzip.compress(saved(docker, runtime.ref, tmp_path / "image.tar").read_bytes())
    assert len(packed) <= 35_000_000
    labels = dict(runtime.labels)
    assert (labels["envbuild.stage"], labels["envbuild.promise"]) == ("runtime", "90")


def test_a_wheel_with_another_hash_is_not_installed(
    docker: DockerEngine, net: Net, locked: Lock
) -> None:
    first, *rest = locked.wheels
    lying = replace(locked, wheels=(replace(first, sha256="0" * 64), *rest))
    with pytest.raises(StaleError, match="another hash"):
        docker.build(render(plans.WHEELS, lying), "envbuild-test/never", net)


def test_a_withdrawn_package_fails_loudly(docker: DockerEngine, net: Net, locked: Lock) -> None:
    first, *rest = locked.apt
    gone = replace(locked, apt=(replace(first, version="0:0-0"), *rest))
    with pytest.raises(StaleError, match="no longer serves"):
        docker.build(render(plans.WHEELS, gone), "envbuild-test/never", net)
