"""Prefixes from the vendor's own wheels, fetched from the package index of this network."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from envbuild.engines import nvrtc
from envbuild.engines.base import RunSpec
from envbuild.engines.local import LocalEngine
from envbuild.errors import MachineError
from envbuild.io.net import Net
from envbuild.values.lock import Wheel
from envbuild.values.plan import HostCompiler
from tests.engines import wheelhouse

pytestmark = [pytest.mark.engine, pytest.mark.apart, pytest.mark.slow]


def wheel(name: str, version: str, tags: str, sha256: str) -> wheelhouse.Made:
    """A wheel of the index: what a lock says of it; the bytes are fetched."""
    file = f"{name.replace('-', '_')}-{version}-{tags}.whl"
    return wheelhouse.Made(
        b"", Wheel(name=name, version=version, file=file, sha256=sha256, index="pypi")
    )


_2014 = "py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64"
_2010 = "py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64"
CUDA_13 = (
    wheel(
        "nvidia-cuda-cccl",
        "13.0.85",
        _2014,
        "e0da7ad981f3a8aff08241b5bfc1af868742a63e2762f53a5171c492ef242649",
    ),
    wheel(
        "nvidia-cuda-crt",
        "13.0.88",
        _2014,
        "2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4",
    ),
    wheel(
        "nvidia-cuda-nvcc",
        "13.0.88",
        _2014,
        "56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03",
    ),
    wheel(
        "nvidia-cuda-runtime",
        "13.0.96",
        _2014,
        "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548",
    ),
    wheel(
        "nvidia-nvvm",
        "13.0.88",
        _2010,
        "c5f41ffeb6466944a026dfa5317d7d85355c119bbec279205d22f1869d1054e0",
    ),
)
NVRTC_12 = (
    wheel(
        "nvidia-cuda-nvrtc-cu12",
        "12.9.86",
        _2010,
        "210cf05005a447e29214e9ce50851e83fc5f4358df8b453155d5e1918094dcb4",
    ),
    wheel(
        "nvidia-cuda-runtime-cu12",
        "12.9.79",
        _2014,
        "25bba2dfb01d48a9b59ca474a1ac43c6ebf7011f1b0b8cc44f54eb6ac48a96c3",
    ),
)
HOST_PROGRAM = """
#include <cstdio>
#include <cmath>
#include <cuda_fp16.h>
__global__ void add(float *a) { a[threadIdx.x] = __half2float(__float2half(a[threadIdx.x])); }
int main() {
  int devices = 0;
  cudaError_t status = cudaGetDeviceCount(&devices);
  add<<<1, 1>>>(nullptr);
  std::printf("status %d devices %d\\n", status, devices);
}
"""
DEVICE_CODE = """
#include <cuda_fp16.h>
extern "C" __global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = __half2float(__float2half(a[i])) + b[i];
}
"""


def test_nvcc_from_wheels_compiles_and_links_both_ways(tmp_path: Path) -> None:
    engine = LocalEngine(tmp_path / "prefix")
    context = wheelhouse.context(CUDA_13, host_compiler=HostCompiler(name="gcc", max=15))
    ref = engine.build(context, "", Net()).ref
    source, program = tmp_path / "a.cu", str(tmp_path / "a")
    source.write_text(HOST_PROGRAM)
    for runtime in (("-cudart", "static"), ("-cudart", "shared"), ("-cudart=none", "-lcudart")):
        argv = ("nvcc", "-arch=sm_90", *runtime, "-o", program, str(source))
        built = engine.run(ref, RunSpec(argv=argv))
        assert built.rc == 0, built.err
        ran = engine.run(ref, RunSpec(argv=(program,), access="native"))
        assert ran.out.startswith("status"), ran.err
    # The control: a target that 13.x does not have.
    refused = engine.run(ref, RunSpec(argv=("nvcc", "-arch=sm_61", "-cubin", str(source))))
    assert refused.rc != 0
    assert engine.inspect(ref) is not None, "compiling must not change the prefix"


def test_nvrtc_compiles_device_code_for_pascal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    engine = LocalEngine(tmp_path / "prefix")
    context = wheelhouse.context(
        NVRTC_12, cc=("6.1",), cuda="12.9.1", promise=("61",), host_compiler=None
    )
    image = engine.build(context, "", Net())
    assert image.labels.get("envbuild.compiler") == "nvrtc"
    said = capfd.readouterr().err
    for way in ("--toolkit-source distro", "--toolkit-source image", "CUDA_HOME"):
        assert way in said
    source, cubin = tmp_path / "a.cu", tmp_path / "a.cubin"
    source.write_text(DEVICE_CODE)
    argv = ("nvrtc", "-arch=sm_61", "-o", str(cubin), str(source))
    done = engine.run(image.ref, RunSpec(argv=argv))
    assert done.rc == 0, done.err
    assert nvrtc.cubin_target(cubin.read_bytes()) == "61"
    assert b"add" in cubin.read_bytes()
    # Controls: another target is another cubin; no such target and no such code are refused.
    other = (*argv[:1], "-arch=sm_90", *argv[2:])
    assert engine.run(image.ref, RunSpec(argv=other)).rc == 0
    assert nvrtc.cubin_target(cubin.read_bytes()) == "90"
    assert engine.run(image.ref, RunSpec(argv=("nvrtc", "-arch=sm_20", *argv[2:]))).rc == 1
    source.write_text("__global__ void k() { no such thing }")
    refused = engine.run(image.ref, RunSpec(argv=argv))
    assert refused.rc == 1
    assert "error" in refused.err
    version = engine.run(image.ref, RunSpec(argv=("nvrtc", "--version")))
    assert version.out == "nvrtc 12.9\n"
    assert engine.inspect(image.ref) == image


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_is_one_error_and_nothing_half_written(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    noise = {"nvidia/cu13/lib/libzero.so.1": bytes(8 << 20)}
    made = (wheelhouse.make_wheel("nvidia-zero", "1", noise),)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(small)], check=True)
    try:
        with wheelhouse.serving(made) as index, pytest.raises(MachineError, match="No space"):
            LocalEngine(small / "prefix").build(
                wheelhouse.context(made), "", Net(index_url=index.url)
            )
        left = sorted(p.name for p in (small / "prefix").iterdir())
        assert left == ["lock", "wheels"]
        assert (small / "prefix" / "wheels" / made[0].wheel.file).is_file()
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_the_compiler_script_needs_nothing_of_envbuild(tmp_path: Path) -> None:
    source = Path(nvrtc.__file__).read_text(encoding="utf-8")
    script = tmp_path / "nvrtc"
    script.write_text(source)
    argv = [sys.executable, "-I", str(script), "--help"]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert "-arch" in done.stdout
