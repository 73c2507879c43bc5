"""Frameworks and packages as people ask for them, each rule on both sides of its boundary."""

from typing import Any

import pytest

from envbuild.matrix.load import load
from envbuild.planner.plan import plan
from envbuild.planner.resolve import resolve
from envbuild.render.view import image_name
from envbuild.values.plan import Plan
from envbuild.values.request import Request, Wish
from tests.planner.ask import ask, ids, why


def built(plan: Plan) -> tuple[str, ...]:
    """The words of the steps that build a source on top of the image."""
    steps = [step.text for f in plan.findings if f.id == "package-source" for step in f.steps]
    return tuple(word for text in steps for word in text.replace("\\n", " ").split())


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


@pytest.mark.parametrize(
    ("packages", "cc", "requirement"),
    [
        ("vllm", "6.1", ""),
        ("vllm", "7.0", "vllm==0.14.1"),
        ("vllm", "7.5", "vllm==0.32.0"),
        ("xformers", "5.2", ""),
        ("xformers", "6.0", "xformers==0.0.30"),
        ("xformers", "7.5", "xformers==0.0.35"),
        ("flash-attn", "7.5", ""),
        ("flash-attn", "8.0", "flash-attn"),  # as a step
        ("cudf", "6.1", ""),
        ("cudf", "7.0", "cudf-cu12"),
        ("cudf", "7.5", "cudf-cu13"),
        ("bitsandbytes", "3.7", ""),
        ("bitsandbytes", "5.2", "bitsandbytes<0.48"),
        ("bitsandbytes", "6.1", "bitsandbytes"),
    ],
)
def test_where_a_package_begins(packages: str, cc: str, requirement: str) -> None:
    plan = ask(cc, packages=packages)
    assert (plan.outcome == "refuse") == (not requirement)
    assert requirement in (*plan.packages, *built(plan), "")


@pytest.mark.parametrize(
    ("cc", "wish", "cuda", "fits"),
    [
        # A library for 12.6 begins at 6.0, those for 12.8 and 12.9 at 7.0.
        ("6.1", "bitsandbytes", "12.8", False),
        ("7.0", "bitsandbytes", "12.8", True),
        ("6.1", "bitsandbytes", "12.6", True),
        ("8.6", "bitsandbytes", "12.9", True),
        ("8.6", "bitsandbytes==0.50.2", "12.9", True),
        # 0.50 loads the library below its CUDA, 0.49 that of its own CUDA alone.
        ("8.6", "bitsandbytes==0.50.2", "13.2", True),
        ("8.6", "bitsandbytes==0.49.2", "13.2", False),
        ("8.6", "bitsandbytes==0.49.2", "13.0", True),
    ],
)
def test_a_package_takes_the_library_of_its_toolkit(
    cc: str, wish: str, cuda: str, fits: bool
) -> None:
    assert (ask(cc, packages=wish, cuda=cuda).outcome != "refuse") == fits


def test_the_row_for_the_toolkit_says_why_a_package_is_refused() -> None:
    assert "serves cc 7.0 and newer, not 6.1" in why(ask("6.1", packages="bitsandbytes"), "12.8")


def test_a_package_that_is_built_on_torch_brings_the_one_it_is_built_for() -> None:
    """vLLM 0.32.0 requires torch==2.13.0: pip would take no other, from an index of its own."""
    alone = ask("7.5", packages="vllm")
    assert alone.torch is not None
    assert alone.packages == ("torch==2.13.0", "vllm==0.32.0")
    assert alone.cuda is not None
    assert alone.cuda.startswith("13.0")
    assert says("package-torch", "7.5", packages="vllm") == ["vllm 0.32.0 is for torch 2.13.0"]
    assert not says("package-torch", "7.5", packages="cudf")


@pytest.mark.parametrize(
    ("packages", "release", "os"),
    [
        ("vllm,torch==2.13.0", "vllm==0.32.0", "ubuntu26.04"),
        ("vllm,torch==2.10.0", "vllm==0.19.1", "ubuntu24.04"),  # no wheels for Python 3.14
        ("vllm,torch==2.9.0", "vllm==0.13.0", "ubuntu24.04"),
        ("vllm,torch==2.7.1", "vllm==0.10.1.1", "ubuntu24.04"),
        ("vllm==0.11.0", "vllm==0.11.0", "ubuntu24.04"),
        ("vllm,torch==2.15.0", "", ""),
        ("vllm,torch==2.14.1", "", ""),
        ("xformers,torch==2.10.0", "xformers==0.0.35", "ubuntu26.04"),
        ("xformers,torch==2.8.0", "xformers<0.0.33", "ubuntu24.04"),
        ("xformers==0.0.35,torch==2.8.0", "", ""),
        ("bitsandbytes,torch==2.1.0", "", ""),
    ],
)
def test_the_release_that_is_built_for_a_torch(packages: str, release: str, os: str) -> None:
    plan = ask("9.0", packages=packages)
    assert (plan.outcome == "refuse") == (not release)
    assert release in (*plan.packages, "")
    assert not os or plan.image.os == os


@pytest.mark.parametrize(
    ("packages", "installed"),
    [
        # TensorFlow 2.21 takes NCCL from 2.27.7 on, torch 2.8.0 requires 2.27.3, 2.9.1 2.27.5.
        ("torch==2.8.0,tensorflow", "tensorflow[and-cuda]==2.20.0"),
        ("torch==2.9.1,tensorflow", "tensorflow[and-cuda]==2.20.0"),
        ("torch==2.8.0,tensorflow==2.21.0", ""),
        # Up to 2.19 it pins every library of its own CUDA, which is that of no torch.
        ("torch==2.8.0,tensorflow==2.19.1", ""),
        # torch 2.6.0 requires NCCL 2.21.5, and cuDNN 9.1 where jax takes 9.10 and newer.
        ("torch==2.6.0,tensorflow", ""),
        ("torch==2.6.0,jax[cuda12]", ""),
        ("torch==2.8.0,jax[cuda12]", "jax[cuda12]==0.12.0.1"),
        ("torch==2.13.0,jax[cuda13]", "jax[cuda13]==0.12.0.1"),
        ("tensorflow", "tensorflow[and-cuda]==2.21.0"),
    ],
)
def test_two_frameworks_share_one_set_of_libraries(packages: str, installed: str) -> None:
    plan = ask("8.6", packages=packages)
    assert (plan.outcome == "refuse") == (not installed)
    assert installed in (*plan.packages, "")


def test_a_refusal_of_two_frameworks_names_the_library() -> None:
    plan = ask("8.6", packages="torch==2.8.0,tensorflow==2.21.0")
    assert any(
        "tensorflow 2.21.0 requires nccl >=2.27.7,<3, and torch 2.8.0 requires 2.27.3" in f.says
        for f in plan.findings
    )


def test_what_a_package_needs_and_does_not_say_is_in_the_plan() -> None:
    """numba-cuda 0.30.4 with numpy 2.5, on an H200: no attribute 'row_stack'."""
    assert "numpy<2.5" in ask("8.6", packages="numba").packages
    assert "numpy<2.5" in ask("6.1", packages="numba-cuda").packages
    assert "numpy<2.5" not in ask("8.6", packages="cupy").packages
    assert any("numpy<2.5" in text for text in says("package-needs", "8.6", packages="numba"))


@pytest.mark.parametrize(
    ("numpy", "fits"),
    [("==2.4", True), ("==2.5", False), (">=2.5", False), (">=2.0", True), ("<3", True)],
)
def test_a_wish_against_what_a_package_needs(numpy: str, fits: bool) -> None:
    wishes = (Wish(name="numba"), Wish(name="numpy", range=numpy))
    made = plan(resolve(Request(cc=("8.6",), packages=wishes), None, load()), load())
    assert isinstance(made, Plan)
    assert (made.outcome != "refuse") == fits
    assert fits or any("numba-cuda 0.30.4 needs numpy<2.5" in f.says for f in made.findings)


@pytest.mark.parametrize(
    ("packages", "called"),
    [
        ("torchvision==0.30.0", "torch (which --with torchvision brings)"),
        ("torch,torchvision==0.30.0", "--with torch and"),
    ],
)
def test_a_torch_that_nobody_typed_is_not_called_a_flag(packages: str, called: str) -> None:
    plan = ask("6.1", packages=packages)
    (clash,) = [f for f in plan.findings if f.id == "conflict"]
    assert called in clash.says


@pytest.mark.parametrize(
    ("numpy", "installed"), [("", "numpy<2"), ("==1.26.4", "numpy<2,==1.26.4"), ("==2.1", "")]
)
def test_a_package_that_two_ask_for_is_one_requirement(numpy: str, installed: str) -> None:
    """Torch 2.2 was built for numpy 1 and does not say so."""
    plan = ask("8.6", packages=f"torch==2.2.0,numpy{numpy}")
    assert plan.packages == (("torch==2.2.0", installed) if installed else ())
    assert "package-unknown" not in ids(plan)
    assert any("torch 2.2.0 needs numpy<2" in f.says for f in plan.findings)


def test_beside_a_torch_that_says_what_it_needs_a_package_stands_as_it_was_asked_for() -> None:
    plan = ask("8.6", packages="torch==2.8.0,numpy")
    assert plan.packages == ("torch==2.8.0", "numpy")
    assert "package-unknown" in ids(plan)


def test_all_cards_of_a_torch_are_those_that_its_wheel_has_code_for() -> None:
    plan = ask("all", packages="torch==2.8.0")
    assert plan.cc == ("7.0", "7.5", "8.0", "8.6", "9.0", "10.0", "12.0")
    assert not {"no-cc", "torch-code"} & ids(plan)
    (chosen,) = [f.says for f in plan.findings if f.id == "toolkit-chosen"]
    assert "all that the wheel has code for, sm_70, sm_75" in chosen
    (other,) = says("torch-every", "all", packages="torch==2.8.0")
    assert "no code for sm_50, sm_60: its build from cu126" in other
    assert not says("torch-every", "all", arch="aarch64", packages="torch==2.8.0")
    assert "no-cc" in ids(ask(packages="torch==2.8.0"))


def test_all_cards_of_a_toolkit_beside_a_torch_that_has_fewer() -> None:
    plan = ask("all", packages="torch==2.8.0", features="extension")
    assert {"5.0", "8.7"} <= set(plan.cc)
    (lacks,) = says("torch-code", "all", packages="torch==2.8.0", features="extension")
    assert "no code for cc 5.0, 5.2" in lacks
    assert "torch-ptx" not in ids(plan)
    base = ask("all", flavour="base")
    assert base.cc
    assert "no-cc" not in ids(base)


def test_what_has_its_source_alone_is_built_on_top_by_a_step() -> None:
    """The index has no wheel of flash-attn, and images are made of wheels."""
    made = ask("8.6", packages="torch==2.8.0,flash-attn==2.8.3")
    assert made.outcome == "warn"
    assert made.image.flavour == "devel"
    assert made.toolkit_source == "image"
    assert not any("flash" in package for package in made.packages)
    assert {"torch==2.8.0", "ninja", "packaging", "psutil", "setuptools", "wheel"} <= {
        *made.packages
    }
    (found,) = [f for f in made.findings if f.id == "package-source"]
    (step,) = found.steps
    assert f"FROM {image_name(made)}\\n" in step.text
    assert (
        "MAX_JOBS=4 pip install --no-cache-dir --no-build-isolation flash-attn==2.8.3" in step.text
    )
    wheels = ask("8.6", packages="torch==2.8.0,xformers")
    assert "package-source" not in ids(wheels)
    assert wheels.toolkit_source == "wheels"


def test_what_is_compiled_needs_a_compiler() -> None:
    plan = ask("8.6", packages="torch==2.8.0,flash-attn", flavour="runtime")
    assert plan.outcome == "refuse"
    assert any("--with flash-attn compiles for the GPU" in f.says for f in plan.findings)
    assert ask("8.6", packages="torch==2.8.0", flavour="runtime").outcome != "refuse"


def test_a_source_that_compiles_nothing_needs_no_compiler() -> None:
    plan = ask("8.6", packages="tensorrt", cuda="12", flavour="runtime")
    assert plan.outcome == "warn"
    assert {"setuptools", "wheel"} <= {*plan.packages}
    (found,) = [f for f in plan.findings if f.id == "package-source"]
    assert "MAX_JOBS" not in found.steps[0].text
    # The only wheel of tensorrt-cu13 is an empty 0.0.0a0.
    assert "package-source" in ids(ask("8.6", packages="tensorrt", cuda="13"))
    assert "package-source" not in ids(ask("8.6", packages="cudf", cuda="13"))


def test_on_a_machine_the_source_is_built_in_its_environment() -> None:
    plan = ask("8.6", packages="torch==2.8.0,flash-attn", where="host")
    (found,) = [f for f in plan.findings if f.id == "package-source"]
    assert found.steps[0].argv[:3] == ("env", "MAX_JOBS=4", "cuda-venv/bin/python")


@pytest.mark.parametrize(
    ("cc", "version", "step"),
    [
        # 2.7.0 from cu128 is the first with sm_120.
        ("12.0", "2.6.0", "the first newer torch that serves this: torch 2.7.0 from cu128"),
        ("7.5", "2.16.0", ""),
        ("6.1", "2.15.0", ""),  # without a version the nearest is found, too
        ("6.1,12.0", "2.8.0", ""),
    ],
)
def test_a_refusal_names_the_nearest_torch(cc: str, version: str, step: str) -> None:
    plan = ask(cc, packages=f"torch=={version}")
    (clash,) = [f for f in plan.findings if f.id == "conflict"]
    near = [s for s in clash.steps if "torch that serves this" in s.why]
    assert [step in s.why for s in near] == [True] * bool(step)
    assert all("torch==2.7.0" in s.argv for s in near)


def test_a_build_is_called_by_all_its_indexes() -> None:
    plan = ask("6.1,12.0", packages="torch==2.8.0")
    assert any("torch 2.8.0 from pypi and cu128 (CUDA 12.8)" in f.says for f in plan.findings)
    assert any("torch 2.8.0 from cu126 (CUDA 12.6)" in f.says for f in plan.findings)


@pytest.mark.parametrize(
    ("l4t", "gpu", "wish", "address"),
    [
        ("36.4", "Jetson AGX Orin", "torch==2.8.0", "https://pypi.jetson-ai-lab.io/jp6/cu126"),
        ("36.4", "Jetson AGX Orin", "cupy", "https://pypi.jetson-ai-lab.io/jp6/cu126"),
        ("36.3", "Jetson AGX Orin", "torch==2.4.0", "compute/redist/jp/v60/pytorch/"),
        ("32", "Jetson Nano", "torch==1.10.0", "https://github.com/dusty-nv/jetson-containers"),
        ("38.4", "Jetson AGX Thor", "torch==2.8.0", "https://pypi.jetson-ai-lab.io/sbsa/cu130"),
    ],
)
def test_a_jetson_hears_where_its_builds_are(l4t: str, gpu: str, wish: str, address: str) -> None:
    plan = ask(gpus=(gpu,), l4t=l4t, packages=wish)
    assert plan.outcome == "refuse"
    steps = plan.findings[0].steps
    assert any(address in " ".join((*step.argv, step.text)) for step in steps)
    assert all(step.check for step in steps if step.argv[:1] != ("envbuild",))


def test_other_cards_hear_nothing_of_the_builds_for_jetsons() -> None:
    refused = ask("12.0", packages="torch==2.6.0")
    assert not any("jetson" in " ".join((*s.argv, s.text)) for s in refused.findings[0].steps)
    bare = ask(gpus=("Jetson AGX Orin",), l4t="36.4", features="fp8")
    assert bare.outcome == "refuse"
    assert not any("jetson-containers" in step.text for step in bare.findings[0].steps)


def test_a_plan_for_thor_names_the_index_of_its_l4t() -> None:
    (index,) = says(
        "jetson-index", "", gpus=("Jetson AGX Thor",), l4t="38.4", packages="torch==2.9.1"
    )
    assert "https://pypi.jetson-ai-lab.io/sbsa/cu130" in index
    assert not says("jetson-index", "9.0", arch="aarch64", packages="torch==2.9.1")


def test_tensorflow_on_a_new_card_says_ptx_and_names_the_container() -> None:
    refused = ask("12.0", packages="tensorflow")
    assert refused.outcome == "refuse"
    assert "CUDA_ERROR_INVALID_PTX" in refused.findings[0].why
    (step,) = [s for s in refused.findings[0].steps if s.argv[:1] == ("docker",)]
    assert "nvcr.io/nvidia/tensorflow:25.02-tf2-py3" in step.argv
    old = ask("5.0", packages="tensorflow==2.21.0")
    assert old.outcome == "refuse"
    assert not any(s.argv[:1] == ("docker",) for s in old.findings[0].steps)
    assert "CUDA_ERROR_INVALID_PTX" not in old.findings[0].why
    assert ask("9.0", packages="tensorflow").outcome == "ok"


@pytest.mark.parametrize(
    ("wish", "there"),
    [
        ("tensorflow", False),  # its wheels for aarch64 are for the CPU
        ("xformers", False),  # it has none
        ("vllm", True),
        ("torch==2.8.0,vllm", True),  # 0.11 has wheels for aarch64, 0.10.1 has none
        ("torch==2.7.1,vllm", False),
        ("jax", True),
        ("cupy", True),
    ],
)
def test_a_package_has_wheels_for_the_gpu_on_this_architecture(wish: str, there: bool) -> None:
    plan = ask("9.0", arch="aarch64", packages=wish)
    assert (plan.outcome != "refuse") == there
    assert ask("9.0", packages=wish).outcome != "refuse"
    alone = [f for f in plan.findings if "wheels for the GPU on x86_64 alone" in f.says]
    assert there or alone


def test_the_toolkit_parts_that_a_package_pulls_in_are_those_of_the_plan() -> None:
    """Without a pin, cudf took the parts of CUDA 13.5 into a plan of 13.3 (uv, 2026-12-02)."""
    plan = ask("8.6", packages="cudf")
    (pin,) = [text for text in plan.packages if text.startswith("cuda-toolkit[")]
    assert plan.cuda is not None
    assert pin.partition("==")[2].startswith(plan.cuda.rpartition(".")[0])
    beside = ask("8.6", packages="torch==2.8.0,cudf")  # torch's wheels hold them to one minor
    assert not any(text.startswith("cuda-toolkit[") for text in beside.packages)


def test_a_package_without_a_version_is_named_once() -> None:
    assert says("package-torch", "8.6", packages="bitsandbytes", cuda="12.9") == [
        "bitsandbytes is for torch >=2.3,<3"
    ]
