"""Attaching to an image in a real registry, together with the ``oras`` client.

Debian's registry has no referrers API, so all of this is the fallback tag.
"""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from envbuild.attest import nodes
from envbuild.errors import MachineError
from envbuild.io import oci, referrers
from envbuild.io.net import Net
from tests.integration.command import ROOT
from tests.integration.conftest import service

pytestmark = [pytest.mark.engine, pytest.mark.apart]
NET = Net()
WRITER = """
import sys
from envbuild.io import oci, referrers
from envbuild.io.net import Net
ref, number = sys.argv[1], int(sys.argv[2])
manifest = oci.resolve(ref, "linux/amd64", Net())
sys.stdin.readline()
for turn in range(2):
    data = b'{"writer": %d, "turn": %d}' % (number, turn)
    print(referrers.attach(oci.parse(ref), manifest, data, predicate="urn:x", net=Net()))
"""


@pytest.fixture(scope="module")
def oras() -> str:
    return service("ENVBUILD_TEST_ORAS")


@pytest.fixture
def ref(registry: str) -> str:
    """An image of a repository that nobody used before."""
    name = f"{registry}/envbuild-test/attach-{os.urandom(4).hex()}:1"
    source = f"docker://{registry}/library/debian:bookworm-slim"
    tls = ("--src-tls-verify=false", "--dest-tls-verify=false")
    subprocess.run(["skopeo", "copy", "-q", *tls, source, f"docker://{name}"], check=True)
    return name


def manifest(ref: str) -> oci.Manifest:
    return oci.resolve(ref, "linux/amd64", NET)


def attach(ref: str, envelope: bytes, predicate: str = "urn:test") -> str:
    return referrers.attach(oci.parse(ref), manifest(ref), envelope, predicate=predicate, net=NET)


def listed(ref: str) -> tuple[referrers.Referrer, ...]:
    return referrers.referrers(oci.parse(ref), manifest(ref).digest, NET)


def run(*argv: str, cwd: Path | None = None) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def discovered(oras: str, ref: str) -> list[dict[str, Any]]:
    found = json.loads(run(oras, "discover", "--plain-http", "--format", "json", ref))
    entries: list[dict[str, Any]] = found.get("referrers") or found.get("manifests") or []
    return entries


def test_what_is_attached_comes_back(ref: str) -> None:
    assert listed(ref) == ()
    first = attach(ref, b'{"n": 1}')
    second = attach(ref, b"x" * (5 << 20), "urn:long")
    assert attach(ref, b'{"n": 1}') == first
    found = listed(ref)
    assert [(one.digest, one.predicate) for one in found] == [
        (first, "urn:test"),
        (second, "urn:long"),
    ]
    data = [referrers.fetch(oci.parse(ref), one, NET) for one in found]
    assert data == [b'{"n": 1}', b"x" * (5 << 20)]


def test_a_subject_is_what_oras_says_of_the_image(ref: str, oras: str) -> None:
    described = json.loads(run(oras, "manifest", "fetch", "--plain-http", "--descriptor", ref))
    subject = manifest(ref)
    assert (subject.digest, subject.size) == (described["digest"], described["size"])
    assert subject.media_type == described["mediaType"]


def test_oras_finds_ours(ref: str, oras: str) -> None:
    ours = attach(ref, b"{}", "https://slsa.dev/provenance/v1")
    (found,) = discovered(oras, ref)
    assert found["digest"] == ours
    assert found["artifactType"] == referrers.STATEMENT
    assert found["annotations"][referrers.PREDICATE] == "https://slsa.dev/provenance/v1"
    name = f"{ref.rpartition(':')[0]}@{ours}"
    fetched = json.loads(run(oras, "manifest", "fetch", "--plain-http", name))
    blob = f"{ref.rpartition(':')[0]}@{fetched['layers'][0]['digest']}"
    assert run(oras, "blob", "fetch", "--plain-http", "--output", "-", blob) == "{}"


def test_oras_pulls_files_that_verify_takes(ref: str, oras: str, tmp_path: Path) -> None:
    for data in (b'{"payload": 1}', b'{"payload": 2}'):
        ours = attach(ref, data, "urn:envbuild:certificate:1")
        name = f"{ref.rpartition(':')[0]}@{ours}"
        run(oras, "pull", "--plain-http", "--output", str(tmp_path), name)
    files = sorted(tmp_path.iterdir())
    assert {path.read_bytes() for path in files} == {b'{"payload": 1}', b'{"payload": 2}'}
    assert all(path.name.startswith("certificate-") for path in files)
    assert [Path(path).name for path in nodes.files_in(tmp_path)] == [p.name for p in files]


def test_oras_and_we_keep_each_others(ref: str, oras: str, tmp_path: Path) -> None:
    (tmp_path / "file.json").write_text('{"theirs": true}')
    add = (oras, "attach", "--plain-http", "--format", "json", "--artifact-type")
    first = attach(ref, b'{"ours": 1}')
    made = json.loads(run(*add, "application/x-theirs", ref, "file.json", cwd=tmp_path))
    theirs = made["digest"]
    last = attach(ref, b'{"ours": 2}')

    assert [one.digest for one in listed(ref)] == [first, theirs, last]
    assert [entry["digest"] for entry in discovered(oras, ref)] == [first, theirs, last]
    found = listed(ref)[1]
    assert (found.artifact_type, found.predicate) == ("application/x-theirs", "")
    assert referrers.fetch(oci.parse(ref), found, NET) == b'{"theirs": true}'

    run(oras, "manifest", "delete", "--plain-http", "--force", f"{ref.rpartition(':')[0]}@{first}")
    assert [one.digest for one in listed(ref)] == [theirs, last]


@pytest.mark.parametrize("apart", [False, True], ids=["one machine", "two machines"])
def test_writers_at_once_lose_nothing(ref: str, apart: bool, tmp_path: Path) -> None:
    """Processes with locks of their own are as writers on several machines are to each other."""
    writers = []
    for number in range(4):
        folder = tmp_path / (str(number) if apart else "both")
        folder.mkdir(exist_ok=True)
        env = os.environ | {"PYTHONPATH": ROOT, "TMPDIR": str(folder)}
        argv = [sys.executable, "-c", WRITER, ref, str(number)]
        pipe = subprocess.PIPE
        writers.append(subprocess.Popen(argv, env=env, stdin=pipe, stdout=pipe, text=True))
    try:
        for one in writers:
            assert one.stdin is not None
            one.stdin.write("now\n")
            one.stdin.flush()
        said = [one.communicate(timeout=120)[0].split() for one in writers]
    finally:
        for one in writers:
            one.kill()
            one.wait()
    assert [one.returncode for one in writers] == [0] * 4
    digests = [digest for lines in said for digest in lines]
    assert len(set(digests)) == 8
    found = listed(ref)
    assert sorted(one.digest for one in found) == sorted(digests)
    assert all(referrers.fetch(oci.parse(ref), one, NET) for one in found)


def test_an_artifact_that_was_deleted_does_not_block_others(ref: str, registry: str) -> None:
    first, second = attach(ref, b"1"), attach(ref, b"2")
    url = f"http://{registry}/v2/{oci.parse(ref).repository}/manifests/{first}"
    request = urllib.request.Request(url, method="DELETE")
    assert urllib.request.urlopen(request, timeout=10).status == 202  # noqa: S310
    gone = listed(ref)[0]
    with pytest.raises(MachineError, match="404"):
        referrers.fetch(oci.parse(ref), gone, NET)
    third = attach(ref, b"3")
    assert [one.digest for one in listed(ref)] == [second, third]


def test_an_image_under_the_fallback_tag_stays(ref: str) -> None:
    tag = manifest(ref).digest.replace(":", "-")
    place = ref.rpartition(":")[0]
    tls = ("--src-tls-verify=false", "--dest-tls-verify=false")
    copy = ("skopeo", "copy", "-q", *tls, f"docker://{ref}", f"docker://{place}:{tag}")
    run(*copy)
    with pytest.raises(MachineError, match="not an index"):
        attach(ref, b"{}")
    assert manifest(f"{place}:{tag}").digest == manifest(ref).digest
