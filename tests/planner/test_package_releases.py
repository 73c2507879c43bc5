"""Which release of a package serves a card, a toolkit and a torch, and how it is installed."""

from typing import Any

import pytest

from envbuild.matrix.load import load
from envbuild.planner.plan import plan
from envbuild.planner.resolve import resolve
from envbuild.render.view import image_name
from envbuild.values.plan import Plan
from envbuild.values.request import Request, Wish
from tests.planner.ask import ask, built, ids, why


def says(id: str, cc: str, **fields: Any) -> list[str]:  # noqa: ANN401
    return [f.says for f in ask(cc, **fields).findings if f.id == id]


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
