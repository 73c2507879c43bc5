"""Rows of frameworks against what their wheels say: each verdict, without a network.

The pages of the index and the facts of the wheels are made: they are laid into the work folder as
a run leaves them, and read with --offline. Values are those measured in the real wheels where a
comment says so.
"""

from pathlib import Path

import pytest

from envbuild.matrix.load import load
from envbuild.matrix.model import CudnnFloor, PackageRule, TorchBuild, TorchPair
from envbuild.matrix.vendor import torch
from envbuild.matrix.vendor.frameworks import MEASURERS
from envbuild.values.codec import replace
from tests.matrix.vendor.bed import Bed, differences, facts, library

KERNELS = "torch/lib/libtorch_cuda.so"


TORCH = "torch-2.15.0-cp312-cp312-manylinux_2_28_x86_64.whl"
# As measured in that wheel: its main library, and the pins that the row repeats.
MAIN = library(KERNELS, {"75": 476, "80": 476, "90": 505, "90a": 4, "100a": 59, "120": 476})
READ = facts(
    TORCH,
    MAIN,
    library("torch/lib/libtorch_nvshmem.so", {"89": 3}, {"120": 3}),
    cuda="13.2",
    python=">=3.11",
    requires=("nvidia-cudnn-cu13==9.26.0.51", "triton~=3.9.0; python_version < '3.16'"),
)
ROW = TorchBuild(
    torch="2.15.0",
    index="pypi",
    cuda="13.2",
    targets=("75", "80", "90", "120"),
    triton="3.9.0",
    cudnn="9.26.0.51",
    python=">=3.11",
    pythons=("3.12",),
    glibc="2.28",
    released="2026-10-28",
    source=("torch-wheels",),
    status="measured",
)


def test_a_torch_that_is_as_its_row_says(bed: Bed) -> None:
    bed.add("torch", TORCH, READ)
    judged = bed.judge("torch", ROW)
    assert judged.verdict == "agrees", judged.differences
    assert set(judged.compared) == set(torch.TORCH.fields)
    assert judged.why == "a few kernels also for 90a 100a"
    assert judged.read == (TORCH,)


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("cuda", "13.0"),
        ("targets", ("75", "80", "90")),
        ("targets", ("70", "75", "80", "90", "120")),
        ("ptx", ("120",)),
        ("triton", "3.8.0"),
        ("triton", None),
        ("cudnn", "9.24.0.43"),
        ("python", ">=3.10"),
        ("pythons", ("3.11", "3.12")),
        ("glibc", "2.17"),
        ("glibc", None),
        ("released", "2026-10-29"),
    ],
)
def test_every_wrong_field_of_a_torch_is_a_difference(field: str, wrong: object, bed: Bed) -> None:
    bed.add("torch", TORCH, READ)
    judged = bed.judge("torch", replace(ROW, **{field: wrong}))
    assert judged.verdict == "differs"
    assert set(differences(judged)) == {field}


def test_a_torch_without_cuda(bed: Bed) -> None:
    file = "torch-2.10.0-cp312-cp312-manylinux_2_28_aarch64.whl"
    pins = ("triton==3.6.0; platform_machine == 'x86_64'", "nvidia-cudnn-cu12==9.10.2.21")
    bed.add("torch", file, facts(file, library("torch/lib/libtorch_cpu.so", {}), requires=pins))
    row = TorchBuild(
        torch="2.10.0", index="pypi", arch="aarch64", cuda=None, pythons=("3.12",), glibc="2.28",
        released="2026-10-28", source=(), status="measured",
    )  # fmt: skip
    assert bed.judge("torch", row).verdict == "agrees"


def test_cuda_without_device_code_is_not_measured(bed: Bed) -> None:
    bed.add("torch", TORCH, facts(TORCH, library(KERNELS, {}), cuda="13.2"))
    judged = bed.judge("torch", ROW)
    assert (judged.verdict, judged.compared) == ("cannot be measured", ())
    assert "no device code" in judged.why


def test_a_build_of_another_index_is_not_reachable(bed: Bed) -> None:
    bed.add("torch", TORCH, READ)
    judged = bed.judge("torch", replace(ROW, index="cu132"))
    assert judged.verdict == "not reachable"
    url = next(one.url for one in load().torch_indexes if one.index == "cu132")
    assert f"{url}, given as --index-url" in judged.why


def test_a_build_of_the_index_that_is_asked(tmp_path: Path) -> None:
    url = next(one.url for one in load().torch_indexes if one.index == "cu132")
    bed = Bed(tmp_path, f"{url}/")
    file = TORCH.replace("2.15.0", "2.15.0+cu132")
    bed.add("torch", file, replace(READ, version="2.15.0+cu132"))
    assert bed.judge("torch", replace(ROW, index="cu132")).verdict == "agrees"
    assert bed.judge("torch", ROW).verdict == "not reachable"


def test_a_wheel_that_was_not_read_is_not_reachable_offline(bed: Bed) -> None:
    bed.add("torch", TORCH)
    judged = bed.judge("torch", ROW)
    assert judged.verdict == "not reachable"
    assert TORCH in judged.why
    assert "no Linux x86_64 wheel" in bed.judge("torch", ROW.__class__(
        torch="9.9.9", index="pypi", cuda=None, source=(), status="measured")).why  # fmt: skip


def test_of_two_builds_the_newer_is_read(bed: Bed) -> None:
    old = "torch-2.10.0-cp310-cp310-manylinux_2_28_x86_64.whl"
    new = "torch-2.10.0-3-cp310-cp310-manylinux_2_28_x86_64.whl"
    newer_python = "torch-2.10.0-4-cp311-cp311-manylinux_2_28_x86_64.whl"
    for file in (old, new, newer_python):
        bed.add("torch", file)
    assert bed.index().one("torch", "2.10.0").file == new


def test_new_releases_of_torch_become_rows(bed: Bed) -> None:
    for version in ("1.0.0", "2.15.0", "2.16.0", "2.17.0rc1"):
        bed.add("torch", TORCH.replace("2.15.0", version))
    bed.add("torch", TORCH.replace("2.15.0", "2.16.0").replace("x86_64", "aarch64"))
    found = list(torch.TORCH.unknown(load(), bed.index()))
    assert [(one.torch, one.index, one.arch) for one in found if isinstance(one, TorchBuild)] == [
        ("2.16.0", "pypi", "x86_64"),
        ("2.16.0", "pypi", "aarch64"),
    ]


def _pairs(bed: Bed) -> None:
    def companion(project: str, version: str, *requires: str) -> None:
        file = f"{project}-{version}-cp312-cp312-manylinux_2_28_x86_64.whl"
        bed.add(project, file, facts(file, requires=requires))

    # The requirements of the real wheels, 2026-12-02.
    companion("torchvision", "0.25.0", "torch (==2.10.0)")
    companion("torchvision", "0.27.1", "torch (==2.12.1)")
    companion("torchvision", "0.29.2", "torch (>=2.14.0)")
    companion("torchaudio", "2.10.0", "torch==2.10.0")
    companion("torchaudio", "2.11.0")
    companion("torchaudio", "2.11.1", "torch>=2.11")


@pytest.mark.parametrize(
    ("torch_", "vision", "audio"),
    [
        ("2.10.0", "0.25.0", "2.10.0"),
        ("2.12.1", "0.27.1", "2.11.1"),
        ("2.15.0", "0.29.2", "2.11.1"),
        ("2.9.0", None, None),
    ],
)
def test_what_goes_with_a_torch(
    torch_: str, vision: str | None, audio: str | None, bed: Bed
) -> None:
    _pairs(bed)
    row = TorchPair(torch=torch_, torchvision=vision, torchaudio=audio, source=(), status="sourced")
    assert bed.judge("torch_pairs", row).verdict == "agrees"
    wrong = TorchPair(torch=torch_, torchvision="0.1.0", source=(), status="sourced")
    assert differences(bed.judge("torch_pairs", wrong))["torchvision"] == (vision or "nothing")


CUPY = "cupy_cuda12x-14.2.0-cp312-cp312-manylinux2014_x86_64.whl"


def cupy(**fields: object) -> PackageRule:
    about = {
        "name": "cupy", "requirement": "cupy-cuda12x[ctk]", "cuda_major": 12, "version": "14.2.0",
        "cc_min": "5.0", "pythons": ("3.12",), "glibc": "2.28", "source": (), "status": "measured",
    }  # fmt: skip
    return PackageRule(**{**about, **fields})  # type: ignore[arg-type]


def test_a_package_with_device_code(bed: Bed) -> None:
    code = library("cupy/cuda/cub.so", {"50": 1, "80": 1})
    bed.add("cupy-cuda12x", CUPY, facts(CUPY, code, python=">=3.10"))
    assert bed.judge("packages", cupy()).verdict == "agrees"
    assert differences(bed.judge("packages", cupy(cc_min="3.5"))) == {"cc_min": "5.0"}
    assert differences(bed.judge("packages", cupy(glibc="2.17"))) == {"glibc": "2.28"}
    assert differences(bed.judge("packages", cupy(pythons=("3.11",)))) == {"pythons": "3.12"}
    careful = bed.judge("packages", cupy(cc_min="5.2"))
    assert (careful.verdict, careful.why) == ("agrees", "its code reaches down to 5.0")


def test_the_version_of_a_package_is_the_newest_of_the_matrices_day(bed: Bed) -> None:
    bed.add("cupy-cuda12x", CUPY, facts(CUPY))
    later, earlier = CUPY.replace("14.2.0", "15.0.0"), CUPY.replace("14.2.0", "14.3.0")
    bed.add("cupy-cuda12x", later, day="2999-01-01T00:00:00Z")
    assert bed.judge("packages", cupy(cc_min=None, glibc="2.17")).verdict == "agrees"
    bed.add("cupy-cuda12x", earlier, day="2026-11-30T00:00:00Z")
    assert differences(bed.judge("packages", cupy(glibc="2.17"))) == {"version": "14.3.0"}
    held = cupy(requirement="cupy-cuda12x<14.3", glibc="2.17")
    assert bed.judge("packages", held).verdict == "agrees"
    assert bed.judge("packages", cupy(version=None)).verdict == "cannot be measured"


def test_the_range_of_a_requirement_is_what_the_index_has(bed: Bed) -> None:
    for version in ("9.10.2.21", "8.5.0.96", "9.12.0.46"):
        file = f"nvidia_cudnn_cu12-{version}-py3-none-manylinux_2_27_x86_64.whl"
        bed.add("nvidia-cudnn-cu12", file, facts(file))
    row = PackageRule(
        name="cudnn", requirement="nvidia-cudnn-cu12<9.11", cuda_major=12, version="9.10.2.21",
        version_min="8.5.0.96", version_max="9.10.2.21", glibc="2.27", source=(), status="sourced",
    )  # fmt: skip
    assert bed.judge("packages", row).verdict == "agrees"
    wrong = replace(row, version_min="8.8.0.121", version_max="9.11")
    assert differences(bed.judge("packages", wrong)) == {
        "version_min": "8.5.0.96",
        "version_max": "9.10.2.21",
    }


def test_the_code_of_jax_lies_in_its_plugins(bed: Bed) -> None:
    """As jax 0.12.0.1 is: the plugin has interpreters, the pjrt wheel the code."""
    jax = "jax-0.12.0.1-py3-none-any.whl"
    plugin = "jax_cuda12_plugin-0.12.0.1-cp312-cp312-manylinux_2_27_x86_64.whl"
    pjrt = "jax_cuda12_pjrt-0.12.0.1-py3-none-manylinux_2_27_x86_64.whl"
    bed.add("jax", jax, facts(jax, python=">=3.12"))
    asks = "nvidia-cudnn-cu12<10.0,>=9.10.2.21; extra == 'with-cuda'"
    bed.add("jax-cuda12-plugin", plugin, facts(plugin, python=">=3.12", requires=(asks,)))
    code = library("jax_plugins/xla_cuda12/xla_cuda_plugin.so", {"50": 52, "60": 52}, {"120": 52})
    bed.add("jax-cuda12-pjrt", pjrt, facts(pjrt, code, python=">=3.12"))
    row = PackageRule(
        name="jax", requirement="jax[cuda12]", cuda_major=12, version="0.12.0.1", cc_min="5.2",
        pythons=("3.12",), glibc="2.28", cudnn=True, source=(), status="measured",
    )  # fmt: skip
    judged = bed.judge("packages", row)
    assert judged.verdict == "agrees", judged.differences
    assert judged.read == (jax, plugin, pjrt)
    assert differences(bed.judge("packages", replace(row, cudnn=False))) == {"cudnn": "True"}


def _cudnn(bed: Bed, version: str, ops: dict[str, int], engines: dict[str, int]) -> None:
    for major in (11, 12, 13):
        bed.pages.setdefault(f"nvidia-cudnn-cu{major}", [])
    file = f"nvidia_cudnn_cu12-{version}-py3-none-manylinux_2_27_x86_64.whl"
    libraries = library("libcudnn_ops.so.9", ops), library("libcudnn_engines.so.9", engines)
    bed.add("nvidia-cudnn-cu12", file, facts(file, *libraries))


def test_where_cudnn_loses_old_cards(bed: Bed) -> None:
    """As 9.10.2.21 and 9.11.0.98 are: one library keeps code for 5.0, the others do not."""
    _cudnn(bed, "9.10.2.21", {"50": 22, "70": 22, "80": 22}, {"50": 370, "80": 632})
    _cudnn(bed, "9.11.0.98", {"75": 22, "80": 22}, {"50": 278, "75": 441, "80": 632})
    _cudnn(bed, "9.28.0.42", {"75": 22, "80": 22}, {"75": 441})
    row = CudnnFloor(cudnn_from="9.11", cc_min="7.5", source=(), status="sourced")
    judged = bed.judge("cudnn", row)
    assert judged.verdict == "agrees", judged.differences
    assert judged.why == "9.10.2.21 from 5.0 on, 9.11.0.98 from 7.5 on, 9.28.0.42 from 7.5 on"
    low = CudnnFloor(cudnn_from="9.11", cc_min="7.0", source=(), status="sourced")
    assert differences(bed.judge("cudnn", low)) == {"cc_min": "7.5"}
    late = CudnnFloor(cudnn_from="9.28", cc_min="7.5", source=(), status="sourced")
    assert differences(bed.judge("cudnn", late)) == {"cudnn_from": "9.11.0.98"}
    none = CudnnFloor(cudnn_from="9.29", cc_min="7.5", source=(), status="sourced")
    assert bed.judge("cudnn", none).verdict == "not reachable"


def test_a_floor_is_looked_for_where_both_sides_exist(bed: Bed) -> None:
    """cuDNN 9.0 on the wheels of CUDA 11; on those of 12 nothing below 5.0 was ever there."""
    for version, least in (("8.9.7.29", "35"), ("9.0.0.312", "50"), ("9.10.2.21", "50")):
        file = f"nvidia_cudnn_cu11-{version}-py3-none-manylinux_2_27_x86_64.whl"
        code = library("libcudnn_ops.so", {least: 9, "80": 9})
        bed.add("nvidia-cudnn-cu11", file, facts(file, code))
    _cudnn(bed, "8.9.7.29", {"50": 9}, {"50": 9})
    _cudnn(bed, "9.0.0.312", {"50": 9}, {"50": 9})
    row = CudnnFloor(cudnn_from="9.0", cc_min="5.0", source=(), status="sourced")
    judged = bed.judge("cudnn", row)
    assert judged.verdict == "agrees", judged
    assert judged.why.startswith("8.9.7.29 from 3.5 on, 9.0.0.312 from 5.0 on")


def test_every_measurer_names_fields_of_its_rows() -> None:
    from msgspec.structs import fields

    from envbuild.matrix.tables import TABLES

    for one in MEASURERS:
        names = {field.name for field in fields(TABLES[one.table].row)}
        assert set(one.fields) <= names


def test_an_extra_may_begin_after_its_project(bed: Bed) -> None:
    for version in ("2.12.0", "2.14.0", "2.14.1"):
        file = f"tensorflow-{version}-cp311-cp311-manylinux_2_17_x86_64.whl"
        bed.add("tensorflow", file, facts(file))
    row = PackageRule(
        name="tensorflow", requirement="tensorflow[and-cuda]<2.15", cuda_major=11, version="2.14.1",
        version_min="2.14.0", version_max="2.14.1", glibc="2.17", source=(), status="sourced",
    )  # fmt: skip
    assert bed.judge("packages", row).verdict == "agrees"
    missing = bed.judge("packages", replace(row, version_min="2.13.0"))
    assert differences(missing) == {"version_min": "2.14.0"}
    whole = bed.judge("packages", replace(row, requirement="tensorflow<2.15"))
    assert differences(whole) == {"version_min": "2.12.0"}
