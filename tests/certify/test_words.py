"""Errors of frameworks in plain words, and the floors of packages."""

import pytest

from envbuild.certify import builds
from envbuild.certify.floors import COMPILE, above, floors
from envbuild.certify.suites.words import plain
from envbuild.matrix.load import load
from envbuild.values.codec import replace
from envbuild.values.host import Tool
from envbuild.values.image import ImageFacts
from tests.certify import framework_samples as made
from tests.certify import samples


def test_an_unknown_error_keeps_its_own_first_line() -> None:
    said = ("RuntimeError: the flux is out\nand more", "warning: something")
    assert plain(said, "torch 2", "9.0", "580") == plain(said, "torch 2", "8.0", "570")
    assert (
        plain(said, "torch 2", "9.0", "580").reason == "torch 2 says: RuntimeError: the flux is out"
    )


@pytest.mark.parametrize("text", ["", "\n \n", "Traceback (most recent call last):\n"])
def test_an_error_without_words_is_said_to_be_one(text: str) -> None:
    assert plain((text, ""), "cupy", "", "").reason == "cupy says: nothing"


def test_the_device_and_the_driver_are_named() -> None:
    word = plain(("no kernel image is available for execution", ""), "torch 2.8.0", "6.1", "580")
    assert word.reason == "torch 2.8.0 holds no code for the device, which is cc 6.1"
    word = plain(("CUDA driver version is insufficient", ""), "torch 2.8.0", "6.1", "535.1")
    assert "(535.1)" in word.reason


def test_braces_in_an_error_do_no_harm() -> None:
    assert "{x}" in plain(("ValueError: {x} {0}", ""), "torch", "9.0", "").reason


@pytest.mark.parametrize(
    ("packages", "package", "below", "reached"),
    [
        ({"triton": "3.4.0"}, COMPILE, "6.1", "7.0"),
        ({"pytorch-triton": "3.6.0+git9844da9"}, COMPILE, "6.0", "7.5"),
        ({"triton": "3.9.0"}, "triton", "6.1", "7.0"),
        ({"cupy-cuda13x": "14.2.0"}, "cupy-cuda13x", "7.0", "7.5"),
    ],
)
def test_floors_come_from_rows(
    packages: dict[str, str], package: str, below: str, reached: str
) -> None:
    found = floors(load(), packages)
    floor = above(found, package, below)
    assert floor is not None
    assert floor.source
    assert above(found, package, reached) is None
    assert above(found, package, "") is None


@pytest.mark.parametrize("packages", [{}, {"triton": "nightly"}, {"cupy": "14"}, {"numpy": "2"}])
def test_what_no_row_names_has_no_floor(packages: dict[str, str]) -> None:
    found = floors(load(), packages)
    assert not above(found, COMPILE, "3.0")
    assert not above(found, "cupy", "3.0")


class TestBuilds:
    def test_facts_of_an_image_come_from_what_its_frameworks_say(self) -> None:
        now = made.seen()
        assert builds.arch_list(now) == made.CU130
        tools = {tool.name: tool.version for tool in builds.tools(now)}
        assert tools["torch"] == "2.11.0+cu130"
        assert tools["torch.cuda"] == tools["cupy.nvrtc"] == "13.0"
        assert tools["triton.ptxas"] == "12.8"

    def test_an_image_that_was_not_asked_has_none(self) -> None:
        assert builds.arch_list(samples.seen()) == ()
        assert builds.tools(samples.seen()) == ()

    def test_facts_can_be_judged_again(self) -> None:
        """Cases C01 and C76 as a replay has them."""
        facts = ImageFacts(
            ref="made:1",
            arch_list=("sm_70", "sm_90"),
            framework=(
                Tool(name="torch", version="2.8.0+cu128"),
                Tool(name="torch.cuda", version="12.8"),
                Tool(name="cupy", version="14.2.0"),
                Tool(name="cupy.nvrtc", version="12.9"),
            ),
        )
        now = made.cut(made.seen(cc="6.1"), "torch.build", "torch.parts", "cupy.build")
        told = tuple(builds.told(facts, samples.NONCE))
        now = replace(now, sessions=(*now.sessions, *told), floors=())
        assert "built for sm_70 sm_90" in made.found(now, "torch.build").reason
        assert "NVRTC 12.9 does not match" in made.found(now, "cupy.build").reason
        assert builds.arch_list(now) == facts.arch_list
