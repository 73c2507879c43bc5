"""Frameworks and packages as people ask for them, each rule on both sides of its boundary."""

from typing import Any

import pytest

from tests.planner.ask import ask, built, ids, why


def says(id: str, cc: str, **fields: Any) -> list[str]:  # noqa: ANN401
    return [f.says for f in ask(cc, **fields).findings if f.id == id]


@pytest.mark.parametrize(("cc", "last"), [("6.1", "2.14.1"), ("7.0", "2.14.1"), ("7.5", "")])
def test_the_last_torch_of_a_card_is_named(cc: str, last: str) -> None:
    found = says("torch-last", cc, packages="torch")
    assert [f"torch {last} from cu126 is the last" in text for text in found] == [True] * bool(last)


def test_what_pip_gives_without_an_index_is_named_where_it_would_not_run() -> None:
    (text,) = says("torch-default", "6.1", packages="torch")
    assert "`pip install torch` without an index gives 2.15.0: CUDA 13.2, without code" in text
    assert not says("torch-default", "9.0", packages="torch")
    (old,) = says("torch-default", "8.6", packages="torch", driver="550.163.01")
    assert "which needs driver 580.65.06" in old


def test_a_torch_whose_own_cudnn_has_left_the_card_is_not_chosen() -> None:
    plan = ask("3.7", packages="torch")
    assert plan.torch is not None
    assert (plan.torch.version, plan.torch.index) == ("2.3.1", "cu118")
    assert not says("torch-cudnn", "3.7", packages="torch")
    (text,) = says("torch-cudnn", "3.7", packages="torch==2.6.0")
    assert "cuDNN 9.1.0.70, which has no code for cc 3.7" in text
    assert "torch 2.3.1 from cu118 is the last whose cuDNN has it" in text
    assert not says("torch-cudnn", "5.0", packages="torch")


def test_a_jetson_hears_that_its_builds_are_the_vendors() -> None:
    plan = ask(gpus=("Orin NX",), packages="torch==2.8.0")
    assert plan.outcome == "refuse"
    assert any("builds of their own" in f.says for f in plan.findings)


def test_cupy_makes_finished_code_and_numba_ptx() -> None:
    above: dict[str, Any] = {"driver": "535.183.01", "cuda": "12.6", "flavour": "devel"}
    cupy = ask("8.6", packages="cupy", **above)
    assert cupy.outcome != "refuse"
    assert any(p.startswith("cuda-toolkit[nvrtc") for p in cupy.packages)
    assert ask("8.6", packages="numba", **above).outcome == "refuse"


def test_a_card_between_those_that_the_wheels_hold_is_not_served() -> None:
    assert ask("8.6", packages="jax[cuda12]", cuda="12.6").outcome != "refuse"
    orin = ask("8.7", packages="jax[cuda12]", cuda="12.6")
    assert orin.outcome == "refuse"
    assert any("has no code for cc 8.7" in f.says for f in orin.findings)


def test_an_unknown_package_says_that_its_torch_is_not_judged() -> None:
    (alone,) = says("package-unknown", "7.0", packages="deepspeed")
    assert "add --with torch" in alone
    (beside,) = says("package-unknown", "7.0", packages="deepspeed,torch")
    assert "add --with torch" not in beside


def test_a_build_for_the_cpu_alone_is_called_that() -> None:
    plan = ask("9.0", arch="aarch64", packages="torch==2.3.1")
    assert plan.outcome == "refuse"
    assert any("a build for the CPU alone" in f.says for f in plan.findings)
    assert ask("9.0", arch="aarch64", packages="torch==2.15.0").outcome != "refuse"


@pytest.mark.parametrize("version", ["2.4.0", "2.5.1"])
def test_the_first_cuda_builds_for_arm_are_named_like_those_for_the_cpu(version: str) -> None:
    plan = ask("9.0", arch="aarch64", packages=f"torch=={version}")
    assert (plan.outcome, plan.cuda) == ("ok", "12.4")
    assert plan.torch is not None
    assert (plan.torch.index, plan.packages[0]) == ("cu124", f"torch=={version}")
    (found,) = [f for f in plan.findings if f.id == "torch-unmarked"]
    assert "--index-url https://download.pytorch.org/whl/cu124, alone" in found.says
    # They were made for Hopper; and what names its index says nothing of it.
    assert ask("8.0", arch="aarch64", packages=f"torch=={version}").outcome == "refuse"
    assert not says("torch-unmarked", "9.0", arch="aarch64", packages="torch==2.6.0+cu126")
    assert not says("torch-unmarked", "9.0", packages=f"torch=={version}+cu124")


def test_a_build_that_is_named_by_its_local_version() -> None:
    refused = ask("6.1", packages="torch==2.8.0+cu128")
    assert refused.outcome == "refuse"
    plan = ask("7.0", packages="torch==2.8.0+cu128")
    assert plan.torch is not None
    assert plan.torch.index == "cu128"


def test_the_pythons_of_a_wheel_are_named() -> None:
    plan = ask("8.6", packages="torch==2.1.2", base_os="ubuntu24.04")
    assert plan.outcome == "refuse"
    assert "has wheels for Python 3.8 to 3.11, not for 3.12" in why(plan, "12.1")
    assert ask("8.6", packages="torch==2.1.2", base_os="ubuntu22.04").outcome != "refuse"


@pytest.mark.parametrize(
    ("wish", "cuda"), [("cupy-cuda12x", "12."), ("cupy-cuda11x", "11."), ("cupy", "13.")]
)
def test_the_name_of_what_is_installed_settles_the_major(wish: str, cuda: str) -> None:
    plan = ask("8.6", packages=wish)
    assert (plan.cuda or "").startswith(cuda)
    assert "package-unknown" not in ids(plan)


@pytest.mark.parametrize(
    ("wish", "cc", "pin"),
    [
        ("cudnn==8.9", "8.6", "nvidia-cudnn-cu12==8.9.*"),
        ("cudnn==9.10.2.21", "8.6", "nvidia-cudnn-cu12==9.10.2.21"),
        ("nvidia-cudnn-cu12", "6.1", "nvidia-cudnn-cu12==9.10.2.21"),
    ],
)
def test_a_version_is_pinned_as_pip_reads_it(wish: str, cc: str, pin: str) -> None:
    assert pin in ask(cc, packages=wish).packages


def test_a_version_outside_every_row_is_a_warning() -> None:
    assert "package-version" in ids(ask("8.6", packages="tensorflow==2.18.0"), "warn")
    assert "package-version" not in ids(ask("8.6", packages="tensorflow==2.18.1"))
    assert "package-version" not in ids(ask("8.6", packages="tensorflow"))


def test_torch_brings_the_triton_and_cudnn_that_it_requires() -> None:
    """A second pin beside torch's own is one that pip cannot meet."""
    for asked in ("triton", "triton==3.5.1", "cudnn", "cudnn==9.10", "nccl"):
        plan = ask("8.6", packages=f"torch==2.9.1,{asked}")
        assert plan.packages == ("torch==2.9.1",), asked
        assert "torch-pins" in ids(plan, "info")
    for other in ("triton==3.2.0", "cudnn==9.11", "nccl==2.18"):
        assert ask("8.6", packages=f"torch==2.9.1,{other}").outcome == "refuse"
    free = ask("8.6", packages="torch,triton==3.5.1").torch
    assert free is not None
    assert free.version == "2.9.1"
    # Neither the toolkit nor the Python of a newer Triton counts.
    assert ask("8.6", packages="torch==2.9.1,triton", base_os="ubuntu22.04").outcome == "ok"
    assert ask("8.6", packages="torch==2.6.0,triton", cuda="11.8").outcome == "ok"


@pytest.mark.parametrize(
    ("asked", "installed"),
    [
        ("nccl", "nvidia-nccl-cu12"),
        ("dali", "nvidia-dali-cuda120"),
        ("tensorrt", '"tensorrt-cu12<10.5"'),
        ("nvidia-nccl-cu12", "nvidia-nccl-cu12"),
    ],
)
def test_what_people_call_a_library_is_not_its_package(asked: str, installed: str) -> None:
    plan = ask("7.0", packages=asked)
    assert installed in (*plan.packages, *built(plan))


def test_a_version_belongs_to_the_requirement_that_had_it() -> None:
    """The extra or package for a CUDA major begins with some version: before it there is none."""
    assert "jax[cuda12]==0.4.30" in ask("8.6", packages="jax==0.4.30").packages
    assert "jax[cuda13]==0.7.2" in ask("8.6", packages="jax==0.7.2").packages
    old = ask("8.6", packages="cupy==13.0.0")
    assert any(p.startswith("cupy-cuda12x") for p in old.packages)
    assert "tensorflow[and-cuda]==2.15.1" in ask("8.6", packages="tensorflow==2.15.1").packages
    assert ask("8.6", packages="tensorflow==2.15.1").python in {"3.9", "3.10", "3.11"}
    assert ask("8.6", packages="tensorflow==2.10.1").outcome == "refuse"


def test_the_newest_tensorflow_with_code_for_the_card() -> None:
    """Of the rows that serve a card the first is taken: the newest release."""
    assert "tensorflow[and-cuda]==2.21.0" in ask("6.1", packages="tensorflow").packages
    assert "tensorflow[and-cuda]==2.16.2" in ask("5.2", packages="tensorflow").packages
    kepler = ask("3.7", packages="tensorflow")
    assert "tensorflow[and-cuda]==2.14.1" in kepler.packages
    assert kepler.cuda == "11.8.0"


def test_a_package_that_takes_any_cudnn_gets_one_with_code_for_the_card() -> None:
    assert "nvidia-cudnn-cu12==9.10.2.21" in ask("6.1", packages="jax").packages
    assert not any("cudnn" in p for p in ask("8.6", packages="jax").packages)


def test_triton_by_itself() -> None:
    assert "triton-ptxas" in ids(ask("12.1", arch="aarch64", packages="triton==3.5.1"), "warn")
    assert "triton-ptxas" not in ids(ask("12.1", arch="aarch64", packages="triton==3.6.0"))
    assert "triton-floor" in ids(ask("7.5", packages="triton"), "watch")
    assert "triton-floor" not in ids(ask("8.0", packages="triton"))
    assert ask("6.1", packages="triton").outcome == "refuse"


@pytest.mark.parametrize(
    ("version", "cc", "l4t", "found"),
    [
        ("2.9.1", "12.1", None, True),
        ("2.10.0", "12.1", None, False),
        ("2.9.1", "11.0", "38", True),
        ("2.15.0", "11.0", "38", False),
    ],
)
def test_torch_compile_needs_a_ptxas_that_knows_the_card(
    version: str, cc: str, l4t: str | None, *, found: bool
) -> None:
    plan = ask(cc, packages=f"torch=={version}", arch="aarch64", l4t=l4t)
    assert plan.outcome != "refuse"
    assert ("triton-ptxas" in ids(plan, "warn")) is found


def test_features_of_own_kernels_mean_that_something_is_compiled() -> None:
    plan = ask("9.0", packages="torch==2.8.0", features="wgmma")
    assert plan.promise == ("90a",)
    assert plan.image.flavour == "devel"
    assert ask("9.0", packages="torch==2.8.0", features="fp8").promise == ()


def test_on_wsl_a_card_needs_the_driver_of_its_first_toolkit() -> None:
    plan = ask("12.0", platform="wsl2", driver="572.83")
    assert plan.outcome != "refuse"
    assert plan.driver[0].min == "570.65"
    assert ask("12.0", platform="wsl2", driver="566.36").outcome == "refuse"
    assert ask("8.6", platform="wsl2", driver="566.36").outcome != "refuse"


def test_what_an_l4t_brings_says_nothing_of_other_cards_drivers() -> None:
    """CUDA 11.4 stands in the matrices for a Jetson; the A100 is older than that."""
    plan = ask(gpus=("A100",), driver="450.80.02")
    assert plan.outcome == "ok"
    assert plan.driver[0].min == "450.80.02"


def test_a_companion_brings_torch_along() -> None:
    """Alone it would come with the torch of the default index, which has no code for the card."""
    plan = ask("6.1", packages="torchvision")
    assert plan.torch is not None
    assert plan.torch.index == "cu126"
    assert any(p.startswith("torch==") for p in plan.packages)
    plan = ask("8.6", packages="torchaudio==2.4.1")
    assert plan.torch is not None
    assert plan.torch.version == "2.4.1"
    assert ask("8.6", packages="numba").torch is None


def test_giving_up_torch_gives_up_its_companions() -> None:
    first = ask("12.0", packages="torchvision==0.19.1").findings[0]
    assert [step.argv for step in first.steps] == [
        ("envbuild", "plan", "--cc", "12.0"),
        ("envbuild", "plan", "--cc", "12.0", "--with", "torch", "--with", "torchvision"),
    ]


def test_a_companion_is_the_one_of_its_torch() -> None:
    plan = ask("6.1", packages="torch==2.8.0,torchvision")
    assert plan.packages == ("torch==2.8.0+cu126", "torchvision==0.23.0")
    assert "torch-pair" in ids(plan, "info")
    assert "package-unknown" not in ids(plan)


def test_python_packages_on_a_system_whose_packages_are_not_installed() -> None:
    plan = ask("8.6", packages="torch==2.8.0", base_os="rockylinux9")
    assert plan.outcome == "refuse"
    assert "for Ubuntu and Debian alone, not for rockylinux9" in why(plan, "12.8")
