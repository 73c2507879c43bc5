"""Plans written by hand (made; figures of the matrices of 2026-12-01), as a planner gives them."""

from envbuild.values.codec import Pairs, replace
from envbuild.values.finding import Finding
from envbuild.values.plan import (
    Archive,
    DriverNeed,
    Flags,
    HostCompiler,
    ImageChoice,
    Layout,
    MatrixId,
    Plan,
    RunFlags,
    TorchChoice,
)

MATRIX = MatrixId(date="2026-12-01", digest="sha256:" + "0" * 64)
VISIBLE = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
CDI = RunFlags(
    docker=("--device", "nvidia.com/gpu=all"),
    podman=("--device", "nvidia.com/gpu=all"),
    apptainer=("--nv",),
)

WHEELS = Plan(
    outcome="ok",
    cc=("9.0",),
    cuda="13.0.2",
    toolkit_source="wheels",
    image=ImageChoice(
        ref="docker.io/library/debian:bookworm-slim", flavour="base", os="debian12", glibc="2.36"
    ),
    layout=Layout(prefix="nvidia/cu13"),
    host_compiler=HostCompiler(name="gcc", version="12", max=15),
    gencode=("arch=compute_90,code=[sm_90,compute_90]",),
    flags=Flags(
        nvcc="-gencode arch=compute_90,code=[sm_90,compute_90]", cmake="90", torch="9.0+PTX"
    ),
    env=Pairs(
        {
            "CUDA_HOME": "/usr/local/cuda",
            "NVCC_CCBIN": "/usr/bin/g++-12",
            "CUDAHOSTCXX": "/usr/bin/g++-12",
            "CMAKE_CUDA_ARCHITECTURES": "90",
            "CUDAARCHS": "90",
            "TORCH_CUDA_ARCH_LIST": "9.0+PTX",
        }
        | VISIBLE
    ),
    packages=("cuda-toolkit[nvcc,cudart,cccl,nvrtc,crt,nvvm]==13.0.2",),
    apt=("g++-12", "python3", "python3-venv"),
    driver=(DriverNeed(cc="9.0", min="580.65.06", recommended="580.173.02", module="either"),),
    access="cdi",
    python="3.11",
    run=CDI,
    promise=("90",),
    matrix=MATRIX,
)

DISTRO = Plan(
    outcome="ok",
    cc=("6.1",),
    cuda="12.4.1",
    toolkit_source="distro",
    image=ImageChoice(
        ref="docker.io/library/debian:trixie-slim", flavour="base", os="debian13", glibc="2.41"
    ),
    layout=Layout(
        components=("main", "contrib", "non-free"),
        dummies=(
            "libcuda1 (= 999)",
            "libcuda-12.4-1",
            "libcuda.so.1 (= 999)",
            "libnvidia-ml1 (= 999)",
            "libnvidia-ml.so.1 (= 999)",
        ),
    ),
    host_compiler=HostCompiler(name="gcc", version="13", max=13),
    gencode=("arch=compute_61,code=[sm_61,compute_61]",),
    flags=Flags(
        nvcc="-gencode arch=compute_61,code=[sm_61,compute_61]", cmake="61", torch="6.1+PTX"
    ),
    env=Pairs(
        {
            "CUDA_HOME": "/usr",
            "NVCC_CCBIN": "/usr/bin/g++-13",
            "CUDAHOSTCXX": "/usr/bin/g++-13",
            "CMAKE_CUDA_ARCHITECTURES": "61",
            "CUDAARCHS": "61",
            "TORCH_CUDA_ARCH_LIST": "6.1+PTX",
        }
        | VISIBLE
    ),
    apt=("nvidia-cuda-toolkit", "g++-13"),
    driver=(
        DriverNeed(
            cc="6.1",
            min="525.60.13",
            recommended="580.173.02",
            last_branch=580,
            module="proprietary",
        ),
    ),
    access="cdi",
    python="3.13",
    run=CDI,
    findings=(
        Finding(
            id="driver-last-branch",
            severity="watch",
            says="590 and newer do not drive Pascal",
            why="never take `latest`",
            source="drivers/590 sourced",
        ),
    ),
    promise=("61",),
    matrix=MATRIX,
)

IMAGE = Plan(
    outcome="ok",
    cc=("8.6",),
    cuda="12.4.1",
    toolkit_source="image",
    image=ImageChoice(
        ref="docker.io/nvidia/cuda:12.4.1-devel-ubuntu22.04",
        flavour="devel",
        os="ubuntu22.04",
        glibc="2.35",
        runtime_ref="docker.io/library/ubuntu:22.04",
    ),
    layout=Layout(purge_compat=True),
    host_compiler=HostCompiler(name="gcc", version="11", max=13),
    gencode=("arch=compute_86,code=[sm_86,compute_86]",),
    flags=Flags(
        nvcc="-gencode arch=compute_86,code=[sm_86,compute_86]", cmake="86", torch="8.6+PTX"
    ),
    env=Pairs({"CUDA_HOME": "/usr/local/cuda", "CUDAARCHS": "86"} | VISIBLE),
    driver=(DriverNeed(cc="8.6", min="525.60.13"),),
    access="gpus",
    run=RunFlags(docker=("--gpus", "all"), podman=("--device", "nvidia.com/gpu=all")),
    promise=("86",),
    matrix=MATRIX,
)

TORCH = Plan(
    outcome="ok",
    cc=("6.1",),
    cuda="12.6.3",
    toolkit_source="wheels",
    image=ImageChoice(
        ref="docker.io/library/debian:bookworm-slim", flavour="base", os="debian12", glibc="2.36"
    ),
    env=Pairs(VISIBLE),
    torch=TorchChoice(
        version="2.14.1",
        index="cu126",
        index_url="https://download.pytorch.org/whl/cu126",
    ),
    packages=("torch==2.14.1+cu126",),
    apt=("python3", "python3-venv"),
    access="cdi",
    python="3.11",
    run=CDI,
    matrix=MATRIX,
)


def _archived(archive: Archive, *apt: str) -> Plan:
    """The image of Pascal with CUDA 12.9 from an archive of the toolkit's own."""
    gcc = {"NVCC_CCBIN": "/usr/bin/g++-12", "CUDAHOSTCXX": "/usr/bin/g++-12"}
    return replace(
        DISTRO,
        cuda="12.9.2",
        toolkit_source=archive.kind,
        image=replace(WHEELS.image, flavour="devel"),
        layout=Layout(archive=archive),
        host_compiler=HostCompiler(name="gcc", version="12", max=14),
        env=Pairs({"CUDA_HOME": "/usr/local/cuda"} | gcc | {"CUDAARCHS": "61"} | VISIBLE),
        apt=(*apt, "g++"),
    )


APT = _archived(
    Archive(
        kind="apt",
        name="debian12",
        url="https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/",
        key="EB693B3035CD5710E231E123A4B469963BF863CC",
        key_file="3bf863cc.pub",
        never=("cuda", "/^cuda-[0-9]+-[0-9]+$/", "cuda-drivers*", "libcuda1*"),
    ),
    "ca-certificates",
    "cuda-toolkit-12-9",
)
REDIST = _archived(
    Archive(
        kind="redist",
        name="redist",
        url="https://developer.download.nvidia.com/compute/cuda/redist/",
        parts=("cuda_nvcc", "cuda_cudart", "cuda_cccl", "cuda_nvrtc"),
    ),
    "ca-certificates",
    "python3",
)
CONDA = _archived(
    Archive(
        kind="conda",
        name="conda-forge",
        url="https://conda.anaconda.org/conda-forge/",
        parts=("cuda-nvcc-impl", "cuda-cudart-dev"),
    ),
    "ca-certificates",
    "python3",
    "zstd",
)
