"""What an image promises, and which device can show it."""

import pytest

from envbuild.certify import devices
from envbuild.certify.terms import covers, terms
from envbuild.errors import ImageError, InputError
from envbuild.matrix.load import load
from envbuild.values.codec import Pairs, digest, replace
from envbuild.values.host import EngineFacts, Gpu, Host, Jetson
from envbuild.values.image import Image
from envbuild.values.plan import MatrixId, Plan

PLAN = Plan(
    outcome="ok",
    cc=("6.1",),
    promise=("61",),
    gencode=("arch=compute_61,code=[sm_61,compute_61]",),
    cuda="12.4",
    matrix=MatrixId(date="", digest=""),
)


def image(**labels: str) -> Image:
    named = {f"envbuild.{name}": text for name, text in labels.items()}
    return Image(ref="a/b:1", config="sha256:0", platform="linux/amd64", labels=Pairs(named))


def made(one: Image, plan: Plan | None = None, **more: object):  # type: ignore[no-untyped-def]  # noqa: ANN201
    return terms(one, plan=plan, lock=None, matrices=load(), **more)  # type: ignore[arg-type]


def test_the_plan_comes_before_the_labels_and_a_flag_before_both() -> None:
    labelled = image(promise="86", cc="8.6", cuda="12.4")
    assert made(labelled, PLAN).promise == ("61",)
    assert made(labelled).promise == ("86",)
    assert made(labelled).origin == "labels"
    asked = made(labelled, PLAN, cc=("9.0",))
    assert (asked.promise, asked.origin) == (("90",), "flag")
    assert asked.gencode == ("arch=compute_90,code=[sm_90,compute_90]",)


def test_the_name_of_a_target_is_that_of_the_toolkit() -> None:
    assert made(image(cuda="12.9"), cc=("11.0",)).promise == ("101",)
    assert made(image(cuda="13.0"), cc=("11.0",)).promise == ("110",)


def test_an_image_that_says_nothing_is_certified_for_the_gpu_here() -> None:
    assert made(image(), device_cc="8.6").promise == ("86",)
    with pytest.raises(InputError, match="nothing says which GPUs"):
        made(image())


@pytest.mark.parametrize("text", ["abc", "9", "sm_90", "90;rm", "1234", "90x"])
def test_a_label_that_is_no_target_is_the_images_fault(text: str) -> None:
    with pytest.raises(ImageError, match="promises"):
        made(image(promise=text, cc="9.0"))
    with pytest.raises(InputError, match="no target"):
        made(image(), replace(PLAN, promise=(text,)))


@pytest.mark.parametrize(
    ("promise", "cc"),
    [("61", "6.1,9.0"), ("86", "8.0"), ("61", "\x1b[2J"), ("61", "9"), ("90a", "9.0,9.1")],
)
def test_a_cc_without_a_target_is_no_promise(promise: str, cc: str) -> None:
    with pytest.raises(ImageError, match="no target of it"):
        made(image(promise=promise, cc=cc))


def test_labels_that_agree() -> None:
    assert made(image(promise="60,60,90a", cc="6.1,9.0")).cc == ("6.1", "9.0")
    assert made(image(promise="60,60,90a", cc="6.1,9.0")).promise == ("60", "90a")
    assert made(image(promise="101", cc="11.0", cuda="12.9")).cc == ("11.0",)
    assert made(image(promise="61,90a")).cc == ("6.1", "9.0")


def test_the_plan_of_another_image_is_refused() -> None:
    assert made(image(plan=digest(PLAN)), PLAN).origin == "plan"
    assert made(image(plan="sha256:1", promise="61")).origin == "labels"
    with pytest.raises(InputError, match="another plan"):
        made(image(plan="sha256:1"), PLAN)
    with pytest.raises(InputError, match="another plan"):
        made(image(plan="sha256:1"), PLAN, cc=("9.0",))


@pytest.mark.parametrize(
    ("promise", "cc", "target"),
    [
        ("61", "6.1", "61"),
        ("60", "6.1", "60"),
        ("62", "6.1", None),
        ("61", "7.0", None),
        ("90a", "9.0", "90a"),
        ("100a", "10.3", None),
        ("100f", "10.3", "100f"),
        ("120", "12.1", "120"),
        ("80,86", "8.9", "86"),
    ],
)
def test_machine_code_runs_within_its_major(promise: str, cc: str, target: str | None) -> None:
    assert covers(tuple(promise.split(",")), cc) == target


DOCKER = EngineFacts(name="docker", access=("gpus", "cdi"), answers=True)
TWO = Host(gpus=(Gpu(uuid="GPU-a", cc="8.6"), Gpu(uuid="GPU-b", cc="6.1")))


def test_the_first_gpu_that_the_image_promises() -> None:
    choice = devices.choose(TWO, DOCKER, ("61",), None, None)
    assert choice.gpu is not None
    assert (choice.gpu.uuid, choice.access) == ("GPU-b", "cdi")


def test_a_gpu_by_uuid() -> None:
    assert "cc 8.6" in devices.choose(TWO, DOCKER, ("61",), "GPU-a", None).reason
    with pytest.raises(InputError, match="GPU-x"):
        devices.choose(TWO, DOCKER, ("61",), "GPU-x", None)


@pytest.mark.parametrize("access", ["none", "", "all"])
def test_a_way_in_that_brings_no_gpu_is_refused(access: str) -> None:
    with pytest.raises(InputError, match="access mode"):
        devices.choose(TWO, DOCKER, ("61",), None, access)


def test_ways_in() -> None:
    jetson = Host(jetson=Jetson(l4t="r36"), gpus=TWO.gpus)
    nothing = EngineFacts(name="docker", answers=True)
    runtime = EngineFacts(name="docker", answers=True, access=("nvidia-runtime",))
    assert devices.choose(jetson, runtime, (), None, None).access == "nvidia-runtime"
    assert "no way to give" in devices.choose(TWO, nothing, (), None, None).reason
    assert devices.choose(TWO, DOCKER, (), None, "gpus").access == "gpus"
    local = EngineFacts(name="local", access=("native",))
    assert devices.choose(TWO, local, (), None, None).access == "native"


def test_no_gpu_and_no_driver_are_told_apart() -> None:
    assert "no NVIDIA GPU" in devices.choose(Host(), DOCKER, (), None, None).reason
    bus = Host(gpus=(Gpu(name="GTX 1080", source="pci"),))
    assert "no driver" in devices.choose(bus, DOCKER, (), None, None).reason
