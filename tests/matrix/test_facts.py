"""Facts that plans stand on, each as a user would ask for it. Sources are in the rows."""

import pytest

from envbuild.matrix.load import load, load_reference
from envbuild.matrix.model import Capability, Toolkit, TorchBuild

MATRICES = load()
TOOLKITS: dict[str, Toolkit] = {row.cuda: row for row in MATRICES.toolkits}
CAPABILITIES: dict[str, Capability] = {row.cc: row for row in MATRICES.capabilities}


@pytest.mark.parametrize(
    ("target", "first", "last"),
    [
        ("30", "10.2", "10.2"),
        ("35", "10.2", "11.8"),
        ("61", "10.2", "12.9"),
        ("70", "10.2", "12.9"),
        ("75", "10.2", "13.5"),
        ("87", "11.4", "13.5"),
        ("90", "11.8", "13.5"),
        ("90a", "12.0", "13.5"),
        ("101", "12.8", "12.9"),
        ("110", "13.0", "13.5"),
        ("103", "12.9", "13.5"),
        ("120", "12.8", "13.5"),
        ("120f", "12.9", "13.5"),
        ("107", "13.4", "13.5"),
    ],
)
def test_a_target_lives_from_one_toolkit_to_another(target: str, first: str, last: str) -> None:
    having = [row.cuda for row in MATRICES.toolkits if target in row.targets]
    assert (having[0], having[-1]) == (first, last)


@pytest.mark.parametrize(
    ("cuda", "gcc", "clang"),
    [
        ("10.2", 8, 8),
        ("11.8", 11, 14),
        ("12.3", 12, 16),
        ("12.6", 13, 18),
        ("12.9", 14, 19),
        ("13.3", 15, 21),
        ("13.5", 16, 22),
    ],
)
def test_compiler_ceilings(cuda: str, gcc: int, clang: int) -> None:
    assert (TOOLKITS[cuda].gcc_max, TOOLKITS[cuda].clang_max) == (gcc, clang)


def test_pascal_ends_with_580_and_needs_the_proprietary_module() -> None:
    row = CAPABILITIES["6.1"]
    assert (row.last_branch, row.module) == (580, "proprietary")
    branch = next(b for b in MATRICES.branches if b.branch == 580)
    assert (branch.newest, branch.cuda, branch.ends) == ("580.173.02", "13.0", "2028-06")
    assert next(f.linux for f in MATRICES.floors if f.major == 12) == "525.60.13"


def test_blackwell_needs_the_open_module() -> None:
    assert {CAPABILITIES[cc].module for cc in ("10.0", "10.3", "12.0", "12.1")} == {"open"}


def test_the_last_driver_of_fermi_and_kepler_cannot_make_their_code() -> None:
    old = ["2.0", "2.1", "3.0", "3.5", "3.7"]
    assert [row.cc for row in MATRICES.capabilities if not row.ptx_jit] == old


def test_plain_targets_have_the_features_of_their_row() -> None:
    for row in MATRICES.capabilities:
        having = {f.name for f in MATRICES.features if row.target in f.targets}
        assert set(row.features) == having, row.cc


@pytest.mark.parametrize(
    ("feature", "has", "has_not"),
    [
        ("wgmma", {"90a"}, {"90", "100a", "120a"}),
        ("tensor-cores", {"70", "75", "120"}, {"61", "60"}),
        ("fp8", {"89", "90", "120"}, {"80", "86"}),
        ("fp4", {"100a", "120f"}, {"90a", "120", "100"}),
        ("tcgen05", {"100a", "103f", "110a"}, {"120a", "100"}),
    ],
)
def test_features_by_target(feature: str, has: set[str], has_not: set[str]) -> None:
    targets = set(next(f.targets for f in MATRICES.features if f.name == feature))
    assert has <= targets
    assert not has_not & targets


def builds(torch: str, index: str, arch: str = "x86_64") -> tuple[TorchBuild, ...]:
    return tuple(
        row for row in MATRICES.torch if (row.torch, row.index, row.arch) == (torch, index, arch)
    )


@pytest.mark.parametrize(
    ("torch", "index", "has", "has_not"),
    [
        ("2.8.0", "cu126", "60", "100"),
        ("2.8.0", "cu128", "120", "60"),
        ("2.7.1", "cu128", "75", "70"),
        ("2.7.1", "cu126", "70", "120"),
        ("2.7.1", "cu118", "70", "37"),
        ("2.9.1", "cu128", "70", "60"),
        ("2.10.0", "cu128", "70", "60"),
        ("2.11.0", "cu128", "75", "70"),
        ("2.11.0", "cu126", "70", "120"),
        ("2.14.1", "cu126", "60", "120"),
        ("2.5.1", "cu121", "86", "37"),
        ("2.12.0", "cu130", "120", "70"),
        ("2.15.0", "pypi", "75", "70"),
        ("2.0.1", "pypi", "37", "90"),
    ],
)
def test_code_in_a_torch_build(torch: str, index: str, has: str, has_not: str) -> None:
    (row,) = builds(torch, index)
    assert has in row.targets
    assert has_not not in row.targets


def test_torch_2_15_has_no_cu126() -> None:
    assert not builds("2.15.0", "cu126")
    assert builds("2.14.1", "cu126")


def test_torch_on_aarch64() -> None:
    (cpu,) = builds("2.8.0", "pypi", "aarch64")
    assert cpu.cuda is None
    (thor,) = builds("2.9.1", "cu130", "aarch64")
    assert "110" in thor.targets
    (default,) = builds("2.11.0", "pypi", "aarch64")
    assert default.cuda == "13.0"
    # 2.8.0 is the one release whose cu128 has no aarch64 wheel.
    having = [index for index in ("cu126", "cu128", "cu129") if builds("2.8.0", index, "aarch64")]
    assert having == ["cu129"]
    assert builds("2.9.1", "cu128", "aarch64")


def test_every_torch_index_has_an_address() -> None:
    indexes = {row.index: row.url for row in MATRICES.torch_indexes}
    assert {row.index for row in MATRICES.torch} == set(indexes)
    assert indexes["cu126"] == "https://download.pytorch.org/whl/cu126"
    assert [name for name, url in indexes.items() if url is None] == ["pypi"]


def test_images() -> None:
    tags = {(row.cuda, row.os): row for row in MATRICES.images}
    assert tags["12.9.1", "ubuntu24.04"].flavours == ("base", "runtime", "devel")
    assert tags["12.2.2", "ubuntu22.04"].cudnn == "cudnn8"
    assert tags["12.3.2", "ubuntu22.04"].cudnn == "cudnn9"
    assert tags["12.5.1", "ubuntu24.04"].cudnn is None
    assert ("11.8.0", "ubuntu24.04") not in tags
    assert ("12.9.1", "ubuntu26.04") not in tags
    assert ("13.3.1", "ubuntu26.04") in tags
    assert not [os for _, os in tags if os.startswith("debian")]
    assert "geforce" in tags["12.4.1", "ubuntu22.04"].require_brands
    assert "geforce" not in tags["12.5.1", "ubuntu22.04"].require_brands
    assert tags["13.0.2", "opensuse15"].arches == ("x86_64",)
    assert tags["12.8.0", "ubuntu24.04"].withdrawn


def test_wheels_pin_one_release() -> None:
    release = {row.release: row for row in MATRICES.wheels}
    row = release["13.0.2"]
    assert (row.cuda, row.nvcc, row.nvcc_version) == ("13.0", True, "13.0.88")
    assert {"nvcc", "cudart", "cccl", "nvrtc", "crt", "nvvm"} == set(row.extras)
    assert not any(r.nvcc for r in MATRICES.wheels if not r.cuda.startswith("13."))
    assert release["12.1.1"].arches == ("x86_64",), "no aarch64 wheels from 12.0 to 12.2"


def test_distro_toolkits_name_what_keeps_the_driver_out() -> None:
    rows = {row.os: row for row in MATRICES.distro}
    assert (rows["debian12"].cuda, rows["debian13"].cuda) == ("11.8", "12.4")
    assert (rows["debian12"].gcc, rows["debian13"].gcc) == (11, 13)
    assert "libcuda-12.4-1" in rows["debian13"].dummies
    assert rows["debian13"].patched_glibc


def test_triton_reaches_new_cards_late() -> None:
    first = {
        target: next(row.triton for row in MATRICES.triton if target in row.targets)
        for target in ("90", "100", "103", "110", "121")
    }
    assert first == {"90": "2.0.0", "100": "3.3.0", "103": "3.6.0", "110": "3.7.0", "121": "3.6.0"}


def test_rows_point_only_at_rows_that_are_there() -> None:
    oses = {row.id for row in MATRICES.oses}
    assert {row.os for row in MATRICES.distro} <= oses
    assert {os for row in MATRICES.repositories for os in row.oses} <= oses
    assert {row.cuda for row in MATRICES.wheels} <= set(TOOLKITS)
    assert {row.cuda for row in MATRICES.torch if row.cuda} <= set(TOOLKITS)
    assert {".".join(row.cuda.split(".")[:2]) for row in MATRICES.images} <= set(TOOLKITS)
    features = {row.name for row in MATRICES.features}
    assert {name for row in MATRICES.capabilities for name in row.features} <= features
    every = {target for row in MATRICES.toolkits for target in row.targets}
    assert {t for row in MATRICES.features for t in row.targets} <= every
    assert {t for row in MATRICES.torch for t in row.targets} <= every


def test_no_address_is_a_package_registry() -> None:
    urls = [row.url for row in load_reference().sources] + [
        row.url for row in MATRICES.torch_indexes
    ]
    assert not [url for url in urls if url and ("pypi" in url or "pythonhosted" in url)]
