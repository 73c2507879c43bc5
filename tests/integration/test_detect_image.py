"""`detect --image` on real engines: what an image holds, without a GPU and without a pull."""

import json
from pathlib import Path

import pytest

from envbuild.cli.app import run as command
from envbuild.engines.base import Engine
from envbuild.host.image import image_facts
from tests.integration.certifying import Make

pytestmark = pytest.mark.engine

IMAGE = """FROM {base}
ENV APP_TOKEN=word NVIDIA_VISIBLE_DEVICES=all
RUN touch /usr/lib/x86_64-linux-gnu/libcuda.so.1
USER 1000
"""


def test_what_an_image_holds(
    engine: Engine, make: Make, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    image = make(IMAGE)
    facts = image_facts(image.ref, engine.name)
    assert (facts.os, facts.platform) == ("debian12", "linux/amd64")
    assert facts.user.startswith("1000")
    assert facts.shell
    assert "libc6" in dict(facts.apt)
    # An empty file under a driver's name is what a careless container run leaves behind.
    assert facts.drivers == ("libcuda.so.1",)
    names = {name for name, _ in facts.env}
    assert {"NVIDIA_VISIBLE_DEVICES", "PATH"} <= names
    assert "APP_TOKEN" not in names
    file = tmp_path / "image.json"
    capfd.readouterr()
    assert command(["detect", "--image", image.ref, "--engine", engine.name, "-o", str(file)]) == 0
    assert json.loads(file.read_text())["schema"] == "envbuild/image-facts/1"
    assert command(["detect", "--image", image.ref, "--engine", engine.name]) == 0
    assert "is baked in" in capfd.readouterr().out


def test_an_image_that_is_not_here_is_not_fetched(
    engine: Engine, capfd: pytest.CaptureFixture[str]
) -> None:
    capfd.readouterr()
    argv = ["detect", "--image", "envbuild-test/nowhere:1", "--engine", engine.name]
    assert command(argv) == 4
    assert f"{engine.name} pull envbuild-test/nowhere:1" in capfd.readouterr().err


def test_an_image_without_a_shell(engine: Engine, make: Make) -> None:
    facts = image_facts(make("FROM scratch\nCOPY one /one\n", one=b"x").ref, engine.name)
    assert (facts.shell, facts.os, facts.python) == (None, None, None)
    assert facts.drivers == ()
