"""Bit for bit on real engines: one digest from two stores, and what differs by its name."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuild.io.ociarchive import read
from envbuild.values.codec import dump, load, replace
from envbuild.values.image import Image
from envbuild.values.reproduction import Reproduction
from tests.integration.command import CLI, envbuild, folder
from tests.integration.conftest import service
from tests.integration.corridor import CA
from tests.integration.daemon import second
from tests.render import plans

pytestmark = [pytest.mark.engine, pytest.mark.apart]

# The runtime of the wheels and no more: little is packed.
SMALL = replace(
    plans.WHEELS,
    packages=("cuda-toolkit[cudart,crt]==13.0.2",),
    apt=("python3", "python3-venv"),
    cc=("9.0",),
)


@pytest.fixture
def newest_env(env: dict[str, str], newest: None) -> dict[str, str]:
    """The environment of a machine whose docker is the newest."""
    return env | {name: os.environ[name] for name in ("DOCKER_HOST", "PATH")}


@pytest.fixture
def older_env(env: dict[str, str]) -> Iterator[dict[str, str]]:
    """The environment of a machine whose docker is of an earlier release, with an empty store."""
    bin_ = Path(service("ENVBUILD_TEST_OLDER_BIN"))
    place = Path(tempfile.mkdtemp(prefix="envbuild-older-", dir="/var/tmp"))
    with second(bin_, place, bridge="envbuild0") as daemon:
        yield env | {"DOCKER_HOST": daemon.socket, "PATH": f"{bin_}:{os.environ['PATH']}"}


@pytest.fixture
def apart() -> Iterator[str]:
    """Address of a second newest daemon: an empty store, and no network at all."""
    place = Path(tempfile.mkdtemp(prefix="envbuild-second-", dir="/var/tmp"))
    bin_ = Path(service("ENVBUILD_TEST_NEWEST_BIN"))
    with second(bin_, place) as daemon:
        yield daemon.socket


def outwards(registry: str) -> dict[str, str]:
    """The settings with which a step gets what it fetches."""
    found = {"ENVBUILD_NETWORK": "host", "ENVBUILD_REGISTRY_MIRROR": registry}
    return found | ({"ENVBUILD_CA_CERT": str(CA)} if CA.is_file() else {})


def reproduction(text: str) -> Reproduction:
    return load(Reproduction, text.encode(), "stdout")


def test_two_builds_have_one_digest_and_the_image_is_the_archive(
    newest_env: dict[str, str], tmp_path: Path, base: str, mirror: tuple[str, ...]
) -> None:
    # Times in files, folders and the archive itself differ from run to run; nothing else does.
    place = folder(tmp_path, base, "mkdir /d && echo same > /d/f && touch /d/g")
    out = tmp_path / "image.oci.tar"
    flags = ("--reproduce", "-o", str(out), "--tag", "envbuild-test/bits:1", "--json", *mirror)
    done = envbuild(newest_env, tmp_path, "build", str(place), *flags)
    assert done.returncode == 0, done.stderr
    found = reproduction(done.stdout)
    assert (found.verdict, found.builds, found.differences) == ("equal", 2, ())
    assert found.manifest == found.other == read(out).manifest
    image = load(Image, (tmp_path / ".envbuild/image.json").read_bytes(), "image.json")
    assert (image.ref, image.manifest) == ("envbuild-test/bits:1", found.manifest)
    assert image.builder[0] == "docker"
    assert image.diff_ids == found.diff_ids
    assert sorted(path.name for path in (tmp_path / ".envbuild").iterdir()) == [
        ".gitignore",
        "image.json",
        "lock",
    ]
    argv = ["skopeo", "inspect", "--raw", f"oci-archive:{out}"]
    shown = subprocess.run(argv, check=True, capture_output=True).stdout
    assert "layers" in json.loads(shown)


def test_a_planted_difference_is_named_by_file_and_layer(
    newest_env: dict[str, str], tmp_path: Path, base: str, mirror: tuple[str, ...]
) -> None:
    random = "head -c 8 /dev/urandom | od > /srv/random && date +%N > /var/log/build.log"
    place = folder(tmp_path, base, "echo same > /same", random, "echo last > /last")
    out = tmp_path / "image.oci.tar"
    flags = ("--reproduce", "-o", str(out), *mirror)
    done = envbuild(newest_env, tmp_path, "build", str(place), *flags)
    assert done.returncode == 7, done.stderr
    assert "two builds differ" in done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0][:5] == ["differs", "layer", "3", "of", "4"]
    assert ["/srv/random", "bytes"] in lines
    assert any(line[:2] == ["/var/log/build.log", "bytes"] and "log" in line for line in lines)
    assert "/same" not in done.stdout
    assert not out.exists()
    assert not (tmp_path / ".envbuild/image.json").exists()
    assert not (tmp_path / ".envbuild/archives").exists()


def test_an_archive_of_other_layers_is_not_the_same_packed_otherwise(
    newest_env: dict[str, str], tmp_path: Path, base: str, mirror: tuple[str, ...]
) -> None:
    place = folder(tmp_path, base, "echo same > /same", "echo one > /srv/word")
    out = tmp_path / "one.oci.tar"
    tag = ("--tag", "envbuild-test/bits-other:1")
    made = envbuild(newest_env, tmp_path, "build", str(place), "-o", str(out), *tag, *mirror)
    assert made.returncode == 0, made.stderr
    image = (tmp_path / ".envbuild/image.json").read_bytes()
    recipe = place / "Dockerfile"
    # The same length and time: only the bytes differ.
    recipe.write_text(recipe.read_text().replace("echo one", "echo two"))
    flags = ("--against", str(out), *tag, "--json", *mirror)
    done = envbuild(newest_env, tmp_path, "build", str(place), *flags)
    assert done.returncode == 7, done.stderr
    found = reproduction(done.stdout)
    assert found.verdict == "different"
    assert [(each.path, each.what) for each in found.differences] == [("/srv/word", ("bytes",))]
    assert (tmp_path / ".envbuild/image.json").read_bytes() == image


def test_a_bundle_builds_the_same_digest_on_another_store_without_a_network(
    newest_env: dict[str, str], apart: str, tmp_path: Path, registry: str
) -> None:
    (tmp_path / "plan.json").write_bytes(dump(SMALL))
    first = newest_env | outwards(registry)
    tag = ("--tag", "envbuild-test/bits-wheels:1")
    made = envbuild(first, tmp_path, "lock", "plan.json", "--bundle", "kept")
    assert made.returncode == 0, made.stderr
    one = tmp_path / "one.oci.tar"
    made = envbuild(first, tmp_path, "build", "plan.json", "-o", str(one), *tag)
    assert made.returncode == 0, made.stderr[-3000:]
    # Client, daemon and steps are in a network of their own that leads nowhere.
    other = newest_env | {"DOCKER_HOST": apart}
    flags = ("plan.json", "--bundle", "kept", "--offline", "--against", str(one), *tag, "--json")
    done = subprocess.run(
        ["unshare", "--net", *CLI, "build", *flags],
        env=other,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    found = reproduction(done.stdout)
    assert (found.verdict, found.differences) == ("equal", ())
    # The date of the matrices, which the plan names.
    assert found.epoch == 1796083200
    image = load(Image, (tmp_path / ".envbuild/image.json").read_bytes(), "image.json")
    assert image.manifest == found.manifest


def test_another_release_of_buildkit_packs_the_same_layers(
    newest_env: dict[str, str], older_env: dict[str, str], tmp_path: Path, registry: str
) -> None:
    # Their compressors differ: docker 26 and 28 give two digests for the same bytes.
    (tmp_path / "plan.json").write_bytes(dump(SMALL))
    more = outwards(registry)
    one = tmp_path / "one.oci.tar"
    flags = ("build", "plan.json", "--tag", "envbuild-test/bits-releases:1")
    made = envbuild(newest_env | more, tmp_path, *flags, "-o", str(one))
    assert made.returncode == 0, made.stderr[-3000:]
    done = envbuild(older_env | more, tmp_path, *flags, "--against", str(one), "--json")
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    found = reproduction(done.stdout)
    assert found.engine.startswith("docker 26.")
    assert found.verdict in {"equal", "unpacked"}
    assert (found.verdict == "equal") == (found.manifest == found.other)
    assert {each.path for each in found.differences} <= {""}, "files are the same"
    assert found.diff_ids == tuple(layer.diff_id for layer in read(one).layers)


def test_a_file_that_another_build_left_in_the_cache_is_as_good_as_ours(
    newest_env: dict[str, str], tmp_path: Path
) -> None:
    # The cache knows a copied file by its bytes; its time is that of whoever built it first.
    place = tmp_path / "made"
    place.mkdir()
    text = f"FROM scratch\nCOPY --chmod=0644 file /{tmp_path.name}\n"
    (place / "Dockerfile").write_text(text)
    (place / "file").write_text(str(tmp_path))
    argv = ["docker", "buildx", "build", "--output", "type=cacheonly", str(place)]
    subprocess.run(argv, check=True, env=newest_env, capture_output=True)
    (place / "plan.json").write_bytes(dump(SMALL))
    one = tmp_path / "one.oci.tar"
    done = envbuild(newest_env, tmp_path, "build", str(place), "-o", str(one))
    assert done.returncode == 0, done.stderr
    done = envbuild(newest_env, tmp_path, "build", str(place), "--against", str(one), "--json")
    assert done.returncode == 0, done.stdout
    assert reproduction(done.stdout).verdict == "equal"


def test_an_engine_that_cannot_says_what_is_needed(
    env: dict[str, str], tmp_path: Path, base: str, mirror: tuple[str, ...]
) -> None:
    place = folder(tmp_path, base, "true")
    for engine in ("docker", "podman"):
        flags = ("--reproduce", "--engine", engine, *mirror)
        done = envbuild(env, tmp_path, "build", str(place), *flags)
        assert done.returncode == 4, done.stderr
        assert "cannot build bit for bit" in done.stderr
        assert "rewrite-timestamp" in done.stderr
        assert "containerd-snapshotter" in done.stderr
