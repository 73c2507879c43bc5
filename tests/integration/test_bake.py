"""A fleet's bake file, built by buildx itself: the images are those that ``build`` makes."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from envbuild.engines.find import make
from envbuild.values.codec import dump
from envbuild.values.plan import Fleet, FleetEntry, FleetNode
from tests.integration.conftest import service
from tests.integration.corridor import CA, Cli, NewCli

pytestmark = [pytest.mark.engine, pytest.mark.slow]


class Baked(NamedTuple):
    """A fleet's folder, where each of its images was built before, and what bake said."""

    folder: Path
    images: dict[str, Cli]
    said: str


@pytest.fixture(scope="module")
def baked(
    distro: Cli, wheels: Cli, new_cli: NewCli, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Baked]:
    """Pascal and Hopper of one fleet: two plans, two locks, two images in one go."""
    cli = new_cli("bake")
    of = {"cc61": distro, "cc90": wheels}
    nodes = [FleetNode(name=name, cc=cli.plan().cc, entry=i) for i, (name, cli) in
             enumerate(of.items(), 1)]  # fmt: skip
    entries = tuple(FleetEntry(nodes=(name,), plan=one.plan()) for name, one in of.items())
    matrix = distro.plan().matrix
    fleet = Fleet(outcome="ok", entries=entries, nodes=tuple(nodes), matrix=matrix)
    (cli.folder / "fleet.json").write_bytes(dump(fleet))
    assert cli("render", "fleet.json", "--no-lock", "-o", "names").returncode == 0
    bake = json.loads((cli.folder / "names/docker-bake.json").read_text())
    names = bake["group"]["default"]["targets"]
    images = {name: of[name.rpartition("-")[2]] for name in names}
    (cli.folder / "envbuild.locks").mkdir()
    for name, one in images.items():
        lock = (one.folder / ".envbuild/envbuild.lock").read_bytes()
        (cli.folder / f"envbuild.locks/{name}.lock").write_bytes(lock)
    done = cli("render", "fleet.json", "--repository", "envbuild-test/fleet", "-o", "folder")
    assert done.returncode == 0, done.stderr
    # This machine reaches no hub: the bases come from the mirror, as `build` takes them.
    for path in (cli.folder / "folder").glob("*/Dockerfile"):
        path.write_text(path.read_text().replace("docker.io/library/", f"{cli.mirror}/library/"))
    # Debian's docker of that release has no buildx of its own.
    config = tmp_path_factory.mktemp("config")
    (config / "cli-plugins").mkdir()
    plugin = "usr/libexec/docker/cli-plugins/docker-buildx"
    (config / "cli-plugins/docker-buildx").symlink_to(
        Path(service("ENVBUILD_TEST_NEWEST_BIN")).parent / "root" / plugin
    )
    argv = [cli.docker, "buildx", "bake", "--allow", "network.host", "--set", "*.network=host"]
    argv += ["--set", f"*.secrets=id=ca,src={CA}"] if CA.is_file() else []
    try:
        ran = subprocess.run(
            argv,
            cwd=cli.folder / "folder",
            env={**os.environ, "DOCKER_CONFIG": str(config), "BUILDX_BUILDER": "default"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr[-4000:]
        yield Baked(cli.folder / "folder", images, ran.stderr)
    finally:
        refs = [f"envbuild-test/fleet/{name}" for name in names]
        subprocess.run([cli.docker, "image", "rm", *refs], check=False, capture_output=True)


def test_each_image_of_the_fleet_is_the_one_that_build_made(baked: Baked) -> None:
    assert len(baked.images) == 2
    for name, one in baked.images.items():
        image = make("docker").inspect(f"envbuild-test/fleet/{name}")
        assert image is not None
        assert image.diff_ids == one.image().diff_ids
        for label in ("envbuild.promise", "envbuild.plan", "envbuild.lock"):
            assert image.labels.get(label) == one.image().labels.get(label)


def test_nothing_was_built_twice(baked: Baked) -> None:
    """Each step came from the cache of ``build``: no other text, secret or file is in it."""
    assert baked.said.count(" CACHED") >= 8
    assert " Setting up " not in baked.said
