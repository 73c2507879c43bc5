"""Provenance: complete, equal for equal input, free of this network, and never of another image."""

import json
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuild.attest import purl
from envbuild.attest.provenance import provenance
from envbuild.errors import StaleError
from envbuild.io.net import Net
from envbuild.lock import make
from envbuild.values.codec import digest, replace
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan
from envbuild.values.request import Request, Wish
from tests.attest import built
from tests.lock.server import layer, push, serve
from tests.render import locks, plans

PAIRS = [
    (plans.WHEELS, locks.WHEELS),
    (plans.DISTRO, locks.DISTRO),
    (plans.IMAGE, locks.IMAGE),
    (plans.TORCH, locks.TORCH),
    (plans.APT, locks.APT),
    (plans.REDIST, locks.REDIST),
    (plans.CONDA, locks.CONDA),
]
# Of a ResourceDescriptor, of a BuildDefinition and of RunDetails, by the published proto:
# slsa-framework/slsa, docs/spec/v1.1/schema/provenance.proto
DESCRIPTOR = {"uri", "digest", "name", "downloadLocation", "mediaType", "content", "annotations"}
DEFINITION = {"buildType", "externalParameters", "internalParameters", "resolvedDependencies"}
HOSTILE = st.text(min_size=1, max_size=40)


def said(plan: Plan, lock: Lock, stage: str = "devel") -> dict[str, Any]:
    made = provenance(plan, lock, built.image(plan, lock, stage), "docker", "28.5.2")
    read: dict[str, Any] = json.loads(made)
    return read


def test_what_was_asked_for_what_was_decided_and_who_built_it() -> None:
    plan = replace(plans.WHEELS, request=Request(cc=("9.0",), packages=(Wish(name="cuda"),)))
    lock = replace(locks.WHEELS, plan=digest(plan))
    made = said(plan, lock, "runtime")
    definition = made["buildDefinition"]
    assert definition["buildType"] == "urn:envbuild:build:1"
    assert definition["externalParameters"]["request"]["cc"] == ["9.0"]
    assert definition["externalParameters"]["request"]["packages"][0]["name"] == "cuda"
    assert definition["internalParameters"] == {
        "plan": digest(plan),
        "lock": digest(lock),
        "matrix": {"date": "2026-12-01", "digest": plan.matrix.digest},
        "stage": "runtime",
        "platform": "linux/amd64",
    }
    builder = made["runDetails"]["builder"]
    assert builder["id"] == "urn:envbuild:builder:docker"
    assert builder["version"]["docker"] == "28.5.2"
    assert "envbuild" in builder["version"]


@pytest.mark.parametrize(("plan", "lock"), PAIRS)
def test_every_byte_of_the_lock_is_a_dependency_in_the_published_form(
    plan: Plan, lock: Lock
) -> None:
    made = said(plan, lock)
    assert made.keys() == {"buildDefinition", "runDetails"}
    assert made["buildDefinition"].keys() == DEFINITION
    assert made["runDetails"].keys() == {"builder"}
    found = made["buildDefinition"]["resolvedDependencies"]
    for one in found:
        assert one.keys() <= DESCRIPTOR
        assert one.keys() & {"uri", "digest", "content"}
        assert all(type(text) is str for text in one.get("annotations", {}).values())
    bases = [base for base in (lock.base, lock.runtime) if base]
    hashed = [base.digest.removeprefix("sha256:") for base in bases]
    hashed += [package.sha256 for package in lock.apt if package.sha256]
    hashed += [wheel.sha256 for wheel in lock.wheels] + [part.sha256 for part in lock.parts]
    hashed += [lock.key.sha256] if lock.key else []
    assert [one["digest"]["sha256"] for one in found if "digest" in one] == hashed
    assert len(found) == len(bases) + len(lock.apt) + len(lock.wheels) + len(lock.parts) + bool(
        lock.key
    )


def uris(plan: Plan, lock: Lock) -> list[str]:
    found = said(plan, lock)["buildDefinition"]["resolvedDependencies"]
    return [one.get("uri", "") for one in found]


def test_packages_are_named_as_package_urls() -> None:
    digest_ = locks.TORCH.base.digest if locks.TORCH.base else ""
    assert uris(plans.TORCH, locks.TORCH)[0] == (
        f"pkg:oci/debian@{digest_}?arch=amd64"
        "&repository_url=docker.io/library/debian&tag=bookworm-slim"
    )
    assert "pkg:pypi/torch@2.14.1%2Bcu126" in uris(plans.TORCH, locks.TORCH)
    apt = uris(plans.APT, locks.APT)
    assert "pkg:deb/debian/g%2B%2B@4:12.2.0-3?arch=amd64&distro=debian-12" in apt
    assert "pkg:conda/cuda-nvcc-impl@12.9.86" in uris(plans.CONDA, locks.CONDA)[-1]
    assert (
        "build=h85509e4_2&channel=conda-forge&subdir=linux-64" in uris(plans.CONDA, locks.CONDA)[-1]
    )


def test_an_image_of_another_plan_or_lock_gets_none() -> None:
    image = built.image(plans.WHEELS, locks.WHEELS)
    with pytest.raises(StaleError, match="not built from this lock"):
        provenance(plans.WHEELS, replace(locks.WHEELS, tool="9"), image, "docker", None)
    with pytest.raises(StaleError, match="not built from this plan"):
        provenance(plans.DISTRO, locks.WHEELS, image, "docker", None)


def test_nothing_of_the_network_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("HTTPS_PROXY", "http://me:hunter2@proxy.secret.example:3128")
    with serve() as server:
        push(server, "nvidia/cuda", "12.4.1-devel-ubuntu22.04", layer({"a": b"1"}))
        push(server, "library/ubuntu", "22.04", layer({"b": b"1"}))
        net = Net(
            registry_mirror=server.host,
            apt_mirror="https://me:hunter2@apt.secret.example/debian",
            index_url="https://me:hunter2@pip.secret.example/simple",
            toolkit_mirror="https://me:hunter2@cuda.secret.example",
        )
        lock = make.lock(plans.IMAGE, net)
        image = built.image(plans.IMAGE, lock)
        text = provenance(plans.IMAGE, lock, image, "docker", "28.5.2").decode()
    for word in (server.host, "127.0.0.1", "hunter2", "secret.example", "proxy"):
        assert word not in text
    assert "docker.io/nvidia/cuda" in text


def test_equal_input_gives_equal_bytes() -> None:
    image = built.image(plans.APT, locks.APT)
    first = provenance(plans.APT, locks.APT, image, "podman", None)
    assert first == provenance(plans.APT, locks.APT, image, "podman", None)
    assert b'"podman"' not in first  # no version is not a version


@given(name=HOSTILE, version=HOSTILE, arch=HOSTILE)
def test_no_name_and_no_version_escapes_from_its_place(name: str, version: str, arch: str) -> None:
    made = purl.purl("generic", name, version, vendor="v", arch=arch)
    assert made.isascii()
    assert made.isprintable()
    assert not set(made) & set(" \"'<>\\^`{|}#")
    path, _, query = made.partition("?")
    kind, vendor, last = path.split("/")
    named, _, released = last.partition("@")
    assert (kind, vendor) == ("pkg:generic", "v")
    assert (unquote(named), unquote(released)) == (name, version)
    assert query.startswith("arch=")
    assert "&" not in query
    assert unquote(query.removeprefix("arch=")) == arch
