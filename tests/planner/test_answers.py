"""The answers that must be right, as a user would read them out of the plan."""

# ruff: noqa: E501 - one row a line reads as the table that it is

from typing import Any

import pytest

from tests.planner.ask import ask, ask_fleet, ids, why


def test_pascal_gets_the_last_toolkit_that_knows_it() -> None:
    plan = ask("6.1")
    assert plan.outcome == "ok"
    assert plan.image.ref == "docker.io/nvidia/cuda:12.9.1-devel-ubuntu24.04"
    assert plan.image.runtime_ref == "docker.io/library/ubuntu:24.04"
    assert plan.gencode == ("arch=compute_61,code=[sm_61,compute_61]",)
    assert plan.flags.torch == "6.1+PTX"
    assert plan.promise == ("61",)
    need = plan.driver[0]
    assert (need.min, need.last_branch, need.module) == ("525.60.13", 580, "proprietary")
    assert plan.lasts_until.until == "2028-06"
    assert {"driver-last-branch", "image-require-brand", "cudnn-floor"} <= ids(plan, "watch")
    assert why(plan, "13.5") == "no target below 7.5; sm_61 ends with CUDA 12.9"


@pytest.mark.parametrize(
    ("cc", "cuda", "module"),
    [("7.0", "12.9", "proprietary"), ("12.0", "13.", "open"), ("10.3", "13.", "open")],
)
def test_each_generation(cc: str, cuda: str, module: str) -> None:
    plan = ask(cc)
    assert plan.outcome == "ok"
    assert (plan.cuda or "").startswith(cuda)
    assert plan.driver[0].module == module


def test_kepler_gets_finished_code_only_and_no_newer_libcuda() -> None:
    plan = ask("3.5")
    assert plan.cuda == "11.8.0"
    assert plan.gencode == ("arch=compute_35,code=sm_35",)
    assert plan.driver[0].last_branch == 470
    assert plan.layout.purge_compat
    assert "driver-ended" in ids(plan, "watch")


def test_pascal_and_cuda_13_exclude_each_other() -> None:
    plan = ask("6.1", cuda="13")
    assert plan.outcome == "refuse"
    conflict = plan.findings[0]
    assert conflict.says == "cc 6.1 (a fact) and --cuda 13 (a wish) exclude each other"
    assert [s.argv for s in conflict.steps] == [("envbuild", "plan", "--cc", "6.1")]


def test_pascal_and_blackwell_share_an_image_but_no_linux_machine() -> None:
    plan = ask("6.1,12.0")
    assert plan.cuda in {"12.9.1", "12.8.1"}
    assert plan.promise == ("61", "120")
    assert plan.gencode[0] == "arch=compute_61,code=sm_61"
    assert "host-window" in ids(plan, "watch")


def test_kepler_and_blackwell_need_two_images() -> None:
    plan = ask("3.5,12.0")
    assert plan.outcome == "refuse"
    assert "cc 3.5 and cc 12.0" in plan.findings[0].says
    assert plan.findings[0].steps[0].argv[-1] == "--split"
    fleet = ask_fleet("3.5,12.0")
    assert [entry.nodes for entry in fleet.entries] == [("3.5",), ("12.0",)]
    assert fleet.outcome == "ok"
    assert fleet.entries[1].plan.request.cc == ("12.0",)


def test_every_target_of_the_planned_toolkit() -> None:
    plan = ask("all", cuda="13")
    assert plan.promise[0] == "75"
    assert "120" in plan.promise
    assert not {"61", "70", "72"} & set(plan.promise)
    assert plan.gencode[-1].endswith("]")


def test_no_cc_is_a_warning() -> None:
    plan = ask(cuda="12.6")
    assert plan.outcome == "warn"
    assert plan.gencode == ()
    assert [need.cc for need in plan.driver] == [None]


def test_torch_wheels_bring_cuda_to_a_plain_system() -> None:
    plan = ask("6.1", packages="torch==2.8.0")
    assert plan.torch is not None
    assert (plan.torch.version, plan.torch.index) == ("2.8.0", "cu126")
    assert plan.packages == ("torch==2.8.0+cu126",)
    assert plan.cuda == "12.6"
    assert (plan.image.ref or "").startswith("docker.io/library/")
    assert "torch-compile" in ids(plan, "warn")
    assert plan.promise == ()


def test_an_extension_needs_the_compiler_of_the_wheels_cuda() -> None:
    old = ask("6.1", packages="torch==2.8.0", features="extension")
    assert old.image.ref == "docker.io/nvidia/cuda:12.6.3-devel-ubuntu24.04"
    assert old.promise == ("61",)
    new = ask("9.0", packages="torch==2.15.0", features="extension", toolkit_source="wheels")
    assert "cuda-toolkit[nvcc,cudart,cccl,nvrtc,crt,nvvm]==13.2.*" in new.packages


def test_wheels_with_a_compiler() -> None:
    plan = ask("9.0", toolkit_source="wheels", base_os="debian12", cuda="13.0.2")
    assert plan.packages == ("cuda-toolkit[nvcc,cudart,cccl,nvrtc,crt,nvvm]==13.0.2",)
    assert plan.layout.prefix == "nvidia/cu13"
    assert plan.python == "3.11"
    assert plan.apt == ("g++", "python3", "python3-venv")
    assert plan.env.get("NVCC_CCBIN") == "/usr/bin/g++-12"
    assert plan.env.get("CUDA_HOME") == "/usr/local/cuda"


def test_wheels_hold_no_compiler_for_old_cards() -> None:
    plan = ask("6.1", toolkit_source="wheels")
    assert plan.toolkit_source == "image"
    assert {"toolkit-source", "wheels-without-nvcc"} <= ids(plan, "warn")
    ways = next(f for f in plan.findings if f.id == "wheels-without-nvcc").says
    assert all(way in ways for way in ("image", "distro", "apt", "redist", "conda"))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"toolkit_source": "distro", "base_os": "ubuntu24.04"}, "not on ubuntu24.04: distro has it on debian13"),
        ({"toolkit_source": "distro", "where": "host", "platform": "wsl2"}, "drags a Linux driver into WSL"),
        ({"toolkit_source": "wheels", "driver": "535.183.01"}, "needs driver 580.65.06"),
        ({"toolkit_source": "image", "where": "host", "base_os": "debian13"}, "is the base of an image"),
        ({"toolkit_source": "image", "cuda": "13.5"}, "not in --cuda 13.5"),
        ({"toolkit_source": "distro", "packages": "torch==2.8.0"}, "no build of torch==2.8.0"),
    ],
)  # fmt: skip
def test_a_source_that_is_not_taken_says_why(fields: dict[str, Any], reason: str) -> None:
    plan = ask("8.6", **fields)
    (finding,) = (f for f in plan.findings if f.id == "toolkit-source")
    assert f"--toolkit-source {fields['toolkit_source']} cannot serve" in finding.says
    assert reason in finding.why


def test_debians_own_toolkit() -> None:
    plan = ask("6.1", toolkit_source="distro", base_os="debian13")
    assert plan.cuda == "12.4.1"
    assert plan.apt == ("nvidia-cuda-toolkit", "g++-13")
    assert plan.env.get("NVCC_CCBIN") == "/usr/bin/g++-13"
    assert plan.env.get("CUDA_HOME") == "/usr"
    assert "non-free" in plan.layout.components
    assert any(dummy.startswith("libcuda1") for dummy in plan.layout.dummies)


def test_a_driver_caps_the_toolkit_but_not_finished_code() -> None:
    assert ask("8.6", driver="550.163.01").cuda == "12.4.1"
    numba = ask("8.6", driver="550.163.01", packages="numba")
    assert numba.cuda == "12.4.1"
    assert any(p.startswith("cuda-toolkit[") and p.endswith("==12.4.1") for p in numba.packages)
    torch = ask("8.6", driver="550.163.01", packages="torch==2.8.0")
    assert torch.outcome == "ok"
    assert "jit-above-driver" not in ids(torch)


def test_a_tag_above_the_driver_starts_with_both_switches_or_not_at_all() -> None:
    plan = ask("8.6", driver="550.163.01", cuda="12.9", toolkit_source="image")
    assert "image-require" in ids(plan, "warn")
    assert plan.env.get("NVIDIA_DISABLE_REQUIRE") == "true"
    assert plan.layout.purge_compat
    datacentre = ask(gpus=("T4",), driver="550.163.01", cuda="12.8", toolkit_source="image")
    assert "image-require" not in ids(datacentre)
    assert datacentre.env.get("NVIDIA_DISABLE_REQUIRE") is None
    assert not datacentre.layout.purge_compat
    # R545 is not among the branches that the tag takes for any brand.
    datacentre = ask(gpus=("Tesla P4",), driver="545.23.08", cuda="12.4", toolkit_source="image")
    assert datacentre.env.get("NVIDIA_DISABLE_REQUIRE") == "true"
    assert datacentre.layout.purge_compat


def test_a_driver_that_ignores_the_card_is_a_fact_to_change() -> None:
    plan = ask("6.1", driver="595.71.05")
    assert plan.outcome == "refuse"
    step = plan.findings[0].steps[0]
    assert "at most R580" in step.text
    assert step.argv == ()


def test_blackwell_needs_a_newer_driver_than_550() -> None:
    plan = ask("12.0", driver="550.163.01")
    assert plan.outcome == "refuse"
    assert "driver-first" in ids(plan, "error")


def test_hopper_instructions_need_the_a_target() -> None:
    plan = ask("9.0", features="wgmma")
    assert plan.gencode == ("arch=compute_90a,code=sm_90a",)
    assert plan.flags.cmake == "90a-real"
    assert ask("12.0", features="wgmma").outcome == "refuse"
    refused = ask("9.0", features="wgmma", cuda="11.8")
    assert "from CUDA 12.0 on" in why(refused, "11.8")


def test_thor_was_renamed() -> None:
    plan = ask("11.0", arch="aarch64", cuda="12.9")
    assert plan.outcome == "refuse"
    assert "sm_101 (10.1)" in why(plan, "12.9")
    assert ask("11.0").arch == "aarch64"


def test_gtx_16_has_no_tensor_cores() -> None:
    assert ask(gpus=("GTX 1660",), features="tensor-cores").outcome == "refuse"
    assert "tensor-cores-by-die" in ids(ask("7.5", features="tensor-cores"), "watch")
    assert ask(gpus=("RTX 2080 Ti",), features="tensor-cores").outcome == "ok"


def test_cudnn_comes_where_it_has_code_for_the_card() -> None:
    # The tag of 12.9.1 holds 9.10.2, the last with code below 7.5; as a package it is pinned.
    old = ask("6.1", packages="cudnn", cuda="12.9.1")
    assert old.image.ref == "docker.io/nvidia/cuda:12.9.1-cudnn-devel-ubuntu24.04"
    pinned = ask("6.1", packages="cudnn", toolkit_source="distro")
    assert "nvidia-cudnn-cu12==9.10.2.21" in pinned.packages
    new = ask("8.6", packages="cudnn", cuda="12.8", toolkit_source="image")
    assert new.image.ref == "docker.io/nvidia/cuda:12.8.1-cudnn-devel-ubuntu24.04"
    assert new.packages == ()


def test_wsl_never_takes_the_distributions_toolkit_natively() -> None:
    plan = ask("6.1", platform="wsl2", where="host", glibc="2.36", toolkit_source="distro")
    assert plan.toolkit_source == "apt"
    assert any("wsl-ubuntu" in f.says for f in plan.findings)
    assert plan.driver[0].min == "528.33"


@pytest.mark.parametrize(
    ("fields", "mounted"),
    [
        ({"l4t": "32.7.1"}, True),
        ({"l4t": "32.7.1", "where": "host"}, False),
        ({"l4t": "35.4", "cc": "8.7"}, False),
    ],
)
def test_an_image_without_cuda_is_built_where_it_is_mounted(
    fields: dict[str, Any], mounted: bool
) -> None:
    plan = ask(**{"cc": "5.3"} | fields)
    found = [f for f in plan.findings if f.id == "l4t-mounted"]
    assert bool(found) == mounted
    assert all("default-runtime" in step.text for f in found for step in f.steps)


def test_what_is_known_of_an_l4ts_compiler() -> None:
    (finding,) = (f for f in ask("8.7", l4t="35.4").findings if f.id == "host-compiler")
    assert finding.says == "the image compiles with gcc 9, that of ubuntu20.04"


def test_jetson_takes_the_cuda_of_its_l4t() -> None:
    plan = ask("8.7", l4t="r36.4.3", where="host")
    assert (plan.cuda, plan.platform, plan.arch) == ("12.6", "jetson-l4t", "aarch64")
    assert ask("8.7", l4t="36.4", cuda="12.8", where="host").outcome == "refuse"
    thor = ask("11.0", l4t="38.2")
    assert (thor.platform, (thor.cuda or "")[:4]) == ("jetson-sbsa", "13.0")
    assert "l4t-assumed" in ids(ask("11.0"), "warn")


def test_server_arm_is_sbsa() -> None:
    plan = ask("9.0", arch="aarch64")
    assert plan.platform == "sbsa"
    assert ask("9.0", platform="linux/arm64").platform == "sbsa"


def test_the_c_library_of_this_machine_decides() -> None:
    assert (ask("8.6", glibc="2.41", where="host").cuda or "") >= "13.0"
    refused = ask("6.1", glibc="2.41", where="host")
    assert refused.outcome == "refuse"
    assert refused.findings[0].steps[0].argv == ("envbuild", "plan", "--cc", "6.1")
    debian = ask("6.1", glibc="2.41", where="host", base_os="debian13")
    assert (debian.toolkit_source, debian.cuda) == ("distro", "12.4.1")


def test_a_compiler_above_the_ceiling_of_this_machine() -> None:
    plan = ask("8.6", cuda="13.3", gcc="16", where="host")
    assert plan.outcome == "warn"
    assert plan.host_compiler is not None
    assert plan.host_compiler.max == 15
    assert ask("8.6", cuda="13.4", gcc="16", where="host", glibc="2.43").outcome == "ok"


def test_smaller_flavours_hold_no_compiler() -> None:
    plan = ask("8.6", flavour="runtime", cuda="12.8", toolkit_source="image")
    assert plan.image.ref == "docker.io/nvidia/cuda:12.8.1-runtime-ubuntu24.04"
    assert plan.promise == ()
    assert plan.env.get("NVCC_CCBIN") is None
    assert ask("8.6", flavour="base", features="arch-specific").outcome == "refuse"


def test_what_is_sourced_comes_before_what_follows() -> None:
    assert (ask("6.1", cuda="12.9").cuda) == "12.9.1"
    asked = ask("6.1", cuda="12.9.2")
    assert asked.cuda == "12.9.2"


def test_the_date_is_an_input() -> None:
    late = ask("6.1", as_of="2030-01-01")
    assert {"driver-ended"} <= ids(late)
    assert ask("6.1").findings == ask("6.1", as_of="2026-12-01").findings


def test_other_ways_are_to_the_same_toolkit_where_there_is_one() -> None:
    """A driver of CUDA 12.8: a newer toolkit is no other way to this plan."""
    plan = ask("9.0", driver="570.172.08")
    assert (plan.cuda or "").startswith("12.8")
    ways = {a.way: a.cuda for a in plan.alternatives if a.way}
    assert (ways["apt"], ways["distro"]) == ("12.8", "12.4")
