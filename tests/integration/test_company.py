"""A whole run in a company's network, and a search for that network in all that it left."""

import base64
import gzip
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from envbuild.io import pip
from envbuild.io.net import Net
from envbuild.values.codec import dump
from tests.integration.command import CLI, ROOT
from tests.integration.company import Company, company
from tests.integration.conftest import STATE, service
from tests.integration.corridor import CA
from tests.integration.daemon import second
from tests.integration.leaks import Search, Watch, said
from tests.integration.test_reproduce import SMALL

pytestmark = [pytest.mark.engine, pytest.mark.apart]
LOGINS = ("name", "password")


class Walk(NamedTuple):
    """The network, the folder of the run, what its commands printed, the daemon's own folder."""

    company: Company
    search: Search
    folder: Path
    said: dict[str, "subprocess.CompletedProcess[str]"]
    daemon: Path
    arguments: set[str]


@pytest.fixture(scope="module")
def walk(registry: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    """From a plan to a verified image, with every secret in use."""
    top = tmp_path_factory.mktemp("company")
    argv = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    listed = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()
    archive = next(url for url in listed if url.endswith("/debian/")).removesuffix("debian/")
    root = Path(service("ENVBUILD_TEST_NEWEST_BIN")).parent / "root"
    plugin = root / "usr/libexec/docker/cli-plugins/docker-buildx"
    trust = str(CA) if CA.is_file() else None
    index = f"{pip.default_index(Net(ca_cert=trust))}/"
    daemon = Path(tempfile.mkdtemp(prefix="envbuild-second-", dir="/var/tmp"))
    bin_ = Path(service("ENVBUILD_TEST_NEWEST_BIN"))
    with (
        company(top / "net", STATE / "registry", index, archive, trust or True, plugin) as here,
        second(bin_, daemon, bridge="envbuild0") as docker,
    ):
        for name in ("work", "tmp"):
            (top / name).mkdir()
        names = ("ENVBUILD_", "DOCKER_", "PIP_", "SSL_", "REQUESTS_", "CURL_")
        env = {name: text for name, text in os.environ.items() if not name.startswith(names)}
        env |= here.net | {
            "DOCKER_HOST": docker.socket,
            "PYTHONPATH": ROOT,
            "TMPDIR": str(top / "tmp"),
        }
        env["PATH"] = f"{here.home / 'bin'}:{root / 'usr/bin'}:{os.environ['PATH']}"
        search = Search(here.marks, top / "unpacked")
        watch = Watch(search)
        try:
            done = _walked(top / "work", env, f"{here.registry}/team/app")
        finally:
            arguments = watch.end()
        yield Walk(here, search, top, done, daemon, arguments)


def _walked(
    work: Path, env: dict[str, str], app: str
) -> dict[str, "subprocess.CompletedProcess[str]"]:
    done = {}

    def run(name: str, *argv: str) -> None:
        done[name] = subprocess.run(
            argv, cwd=work, env=env, capture_output=True, text=True, timeout=200, check=False
        )
        assert done[name].returncode == 0, (name, done[name].stdout + done[name].stderr[-3000:])

    def envbuild(name: str, *argv: str) -> None:
        run(name, *CLI, *argv)

    (work / "plan.json").write_bytes(dump(SMALL))
    key, of_key = ("openssl", "genpkey", "-algorithm", "ed25519"), ("openssl", "pkey", "-pubout")
    run("key", *key, "-out", "key.pem")
    run("public", *of_key, "-in", "key.pem", "-out", "key.pub")
    seen = ("-v", "--debug")
    envbuild("detect", "detect", "--json")
    envbuild("lock", "lock", "plan.json", *seen)
    envbuild("render", "render", "plan.json", "--lock", "envbuild.lock", "-o", "context")
    envbuild("dry", "build", "plan.json", "--lock", "envbuild.lock", "--dry-run")
    envbuild("archive", "build", "plan.json", "-o", "devel.tar", "--tag", "co/devel:1", *seen)
    envbuild("build", "build", "plan.json", "--target", "runtime", "--tag", f"{app}:1", *seen)
    envbuild("bundle", "lock", "plan.json", "--bundle", "kept", *seen)
    run("push", "docker", "push", f"{app}:1")
    flags = ("--require", "toolchain")
    reports = (
        "--record",
        "seen.json",
        "--junit",
        "j.xml",
        "--markdown",
        "m.md",
    )
    sign = ("--sign", "key.pem", "--attach", "--plan", "plan.json", "--lock", "envbuild.lock")
    envbuild("certify", "certify", f"{app}:1", *flags, *reports, *sign, *seen)
    verify = ("verify", f"{app}:1", "--key", "key.pub", *flags)
    envbuild("verify", *verify, *seen)
    for what in ("provenance", "sbom", "lock", "plan", "certificates"):
        envbuild(f"shown {what}", *verify, "--show", what)
    run("history", "docker", "history", "--no-trunc", f"{app}:1")
    run("cache", "docker", "buildx", "du", "--verbose")
    return done


def test_every_way_out_was_used(walk: Walk) -> None:
    here = walk.company
    assert {*here.tunnels} == {here.pypi, here.archive}, "nothing but the mirrors was asked for"
    assert {host for host, _ in here.served} == {here.pypi, here.archive}, "with their logins"
    assert any(path.endswith(".whl") for _, path in here.served)
    assert any(path.endswith(".deb") for _, path in here.served)
    assert f"get {here.mirror}" in here.helped.read_text()
    assert "attached  6 statements" in walk.said["certify"].stderr
    assert "VERIFIED" in walk.said["verify"].stdout
    assert "GET apt-mirror/debian/dists" in walk.said["lock"].stderr


def test_nothing_of_it_is_in_what_was_made_signed_stored_and_said(walk: Walk) -> None:
    places = (walk.folder / "work", walk.company.store, walk.folder / "tmp")
    assert walk.search.folder(*places) == {}
    printed = {name: walk.search.text(said([one])) for name, one in walk.said.items()}
    # The exact commands name the mirror's host, as the user gave it; never a login.
    shown = printed.pop("dry")
    assert "login **** password ****" in walk.said["dry"].stdout
    assert shown <= {
        "mirror address",
        "archive host",
        "index host",
        "proxy address",
        "CA path",
    }
    assert {name: marks for name, marks in printed.items() if marks} == {}


def test_no_process_had_a_secret_in_its_arguments(walk: Walk) -> None:
    # Apt names its lists after their host, and gives the names to gpgv.
    assert walk.arguments <= {"archive host"}


def test_the_build_cache_and_the_store_have_no_secret(walk: Walk) -> None:
    found = walk.search.folder(walk.daemon / "data")
    # The store of images notes where it pulled a base from, with no login.
    stored = {path for path in found if "/containerd/" in path and path.endswith("metadata.db")}
    stored |= {path for path in found if path.endswith("bolt/meta.db")}
    assert {mark for path in stored for mark in found[path]} <= {"mirror address"}
    # BuildKit keeps what steps print: apt and pip name hosts, and no login.
    kept = {path for path in found if "/io.containerd.content.v1.content/" in path}
    assert {mark for path in kept for mark in found[path]} <= {"archive host", "index host"}
    assert {path: marks for path, marks in found.items() if path not in stored | kept} == {}


def test_the_caches_of_this_user_have_no_login(walk: Walk) -> None:
    found = walk.search.folder(walk.company.home / ".cache")
    assert {m for marks in found.values() for m in marks if m.endswith(LOGINS)} == set()


def test_the_search_finds_what_is_planted(walk: Walk, tmp_path: Path) -> None:
    for number, (name, mark) in enumerate(walk.company.marks.items()):
        place = tmp_path / str(number)
        layer, outer = place / "layer.tar", place / "outer.tar"
        for inside in ("a", "b", "c"):
            (place / inside).mkdir(parents=True)
        (place / "plain").write_bytes(b"x" + mark + b"y")
        (place / "coded").write_bytes(base64.b64encode(b"me:" + mark + b":x" * number))
        (place / "a/file").write_bytes(b"in a layer " + mark)
        with tarfile.open(layer, "w") as tar:
            tar.add(place / "a/file", "file")
        (place / "b/blob").write_bytes(gzip.compress(layer.read_bytes()))
        subprocess.run(["zstd", "-q", str(layer), "-o", str(place / "c/blob")], check=True)
        with tarfile.open(outer, "w") as tar:
            tar.add(place / "b/blob", "blobs/sha256/b")
            tar.add(place / "c/blob", "blobs/sha256/c")
        for kept in ("a/file", "layer.tar", "b/blob", "c/blob"):
            (place / kept).unlink()
        (place / "a" / os.fsdecode(mark.replace(b"/", b""))).touch()
        found = Search({name: mark}, tmp_path / f"room{number}").folder(place)
        packed = [path for path in found if path.startswith(str(tmp_path / f"room{number}"))]
        assert {str(place / "plain"), str(place / "coded")} <= {*found}, name
        assert len(packed) >= 2, (name, found)


def test_the_watch_sees_an_argument(walk: Walk) -> None:
    mark = walk.company.marks["proxy password"].decode()
    watch = Watch(walk.search)
    subprocess.run([sys.executable, "-c", "import time; time.sleep(0.5)", mark], check=True)
    assert watch.end() == {"proxy password"}
