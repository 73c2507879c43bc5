"""The SBOM: what the lock names and what the image says; a list with gaps never looks whole."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuild.attest.packages import Installed, Packages, packages, parse
from envbuild.attest.sbom import sbom
from envbuild.engines.base import RunSpec
from envbuild.errors import InputError, StaleError
from envbuild.io.proc import Completed
from envbuild.values.codec import replace
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan
from tests.attest import built
from tests.render import locks, plans

# Required, and allowed where nothing else is, by the published schema of SPDX 2.3:
# spdx/spdx-spec at b536507a, schemas/spdx-schema-2-3.json
DOCUMENT = {"SPDXID", "creationInfo", "dataLicense", "name", "spdxVersion"}
OF_PACKAGE = {
    "SPDXID",
    "name",
    "versionInfo",
    "downloadLocation",
    "filesAnalyzed",
    "primaryPackagePurpose",
    "externalRefs",
    "checksums",
    "sourceInfo",
    "packageFileName",
}
BASE = Installed(kind="deb", name="bash", version="5.2.15-2+b7", arch="amd64")
TEXT = st.text(max_size=30)


def said(
    plan: Plan, lock: Lock, found: Packages, stage: str = "devel", manifest: str | None = None
) -> dict[str, Any]:
    made = sbom(plan, lock, built.image(plan, lock, stage, manifest), found)
    read: dict[str, Any] = json.loads(made)
    check(read)
    return read


def check(document: dict[str, Any]) -> None:
    """What the standard asks of every document."""
    assert document.keys() >= DOCUMENT
    assert document["spdxVersion"] == "SPDX-2.3"
    assert document["dataLicense"] == "CC0-1.0"
    assert re.fullmatch(r"urn:[a-z]+:\S+", document["documentNamespace"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT00:00:00Z", document["creationInfo"]["created"])
    ids = [one["SPDXID"] for one in document["packages"]]
    assert len(set(ids)) == len(ids)
    for one in document["packages"]:
        assert one.keys() <= OF_PACKAGE
        assert re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", one["SPDXID"])
        assert one["name"]
        assert not one["filesAnalyzed"]
        for ref in one.get("externalRefs", ()):
            assert re.fullmatch(r"pkg:[!-~]+", ref["referenceLocator"])
        for checksum in one.get("checksums", ()):
            assert re.fullmatch(r"[0-9a-f]{64}", checksum["checksumValue"])
    known = {*ids, "SPDXRef-DOCUMENT"}
    for relation in document["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= known


def related(document: dict[str, Any], kind: str) -> set[str]:
    """Names of the packages that stand in a relation to the image."""
    names = {one["SPDXID"]: one["name"] for one in document["packages"]}
    found = [r for r in document["relationships"] if r["relationshipType"] == kind]
    ends = {r[end] for r in found for end in ("spdxElementId", "relatedSpdxElement")}
    return {names[end] for end in ends - {"SPDXRef-Image", "SPDXRef-DOCUMENT"}}


def test_what_the_lock_names_and_what_the_image_has_with_hashes_where_they_are_known() -> None:
    found = built.inside(locks.TORCH, BASE)
    made = said(plans.TORCH, locks.TORCH, found, manifest=built.MANIFEST)
    by_name = {one["name"]: one for one in made["packages"]}
    assert related(made, "CONTAINS") == {"bash", "torch", "nvidia-cuda-runtime-cu12"}
    assert related(made, "DESCENDANT_OF") == {"docker.io/library/debian:bookworm-slim"}
    assert by_name["torch"]["checksums"][0]["checksumValue"] == "e" * 64
    assert by_name["torch"]["packageFileName"].endswith(".whl")
    assert "checksums" not in by_name["bash"]
    assert by_name["bash"]["externalRefs"][0]["referenceLocator"] == (
        "pkg:deb/debian/bash@5.2.15-2%2Bb7?arch=amd64&distro=debian-12"
    )
    assert by_name["app"]["versionInfo"] == built.MANIFEST
    assert made["creationInfo"]["created"] == f"{plans.TORCH.matrix.date}T00:00:00Z"
    assert built.CONFIG in made["documentNamespace"]
    assert "comment" not in made


def test_a_locked_package_that_the_image_lacks_was_needed_for_the_build_alone() -> None:
    first, *rest = locks.APT.apt
    less = built.inside(replace(locks.APT, apt=tuple(rest)))
    made = said(plans.APT, locks.APT, less)
    assert related(made, "BUILD_DEPENDENCY_OF") == {first.name}
    assert related(made, "CONTAINS") == {p.name for p in rest}


def test_a_version_is_the_same_however_the_metadata_spells_it() -> None:
    wheel = replace(locks.TORCH.wheels[0], version="2024.7")
    lock = replace(locks.TORCH, wheels=(wheel,))
    name = wheel.name.replace("-", "_").upper()
    found = Packages(
        read=("pypi",), installed=(Installed(kind="pypi", name=name, version="2024.07"),)
    )
    assert related(said(plans.TORCH, lock, found), "CONTAINS") == {wheel.name}


@pytest.mark.parametrize(
    ("stage", "kind"), [("devel", "CONTAINS"), ("runtime", "BUILD_DEPENDENCY_OF")]
)
def test_files_of_an_archive_are_in_the_stage_that_has_the_compiler(stage: str, kind: str) -> None:
    made = said(plans.REDIST, locks.REDIST, built.inside(locks.REDIST), stage)
    assert {"cuda_nvcc", "cuda_cudart"} <= related(made, kind)


def test_the_runtime_stage_starts_from_its_own_base() -> None:
    made = said(plans.IMAGE, locks.IMAGE, built.inside(locks.IMAGE), "runtime")
    assert related(made, "DESCENDANT_OF") == {plans.IMAGE.image.runtime_ref}


def test_an_image_that_could_not_be_read_is_said_to_be_so() -> None:
    unread = Packages(missing=("The image has no shell: its packages could not be read.",))
    made = said(plans.APT, locks.APT, unread)
    assert made["comment"] == unread.missing[0]
    assert related(made, "CONTAINS") == {p.name for p in locks.APT.apt}
    why = [one.get("sourceInfo", "") for one in made["packages"][2:]]
    assert all("was not asked" in text for text in why)


def test_an_image_of_another_lock_gets_none() -> None:
    image = built.image(plans.APT, locks.APT)
    with pytest.raises(StaleError, match="not built from this lock"):
        sbom(plans.APT, replace(locks.APT, tool="9"), image, Packages())


def test_no_registry_and_no_folder_of_it_is_in_it_and_equal_input_gives_equal_bytes() -> None:
    image = built.image(plans.APT, locks.APT, manifest=built.MANIFEST)
    made = sbom(plans.APT, locks.APT, image, built.inside(locks.APT))
    assert made == sbom(plans.APT, locks.APT, image, built.inside(locks.APT))
    for word in (b"secret.example", b"5000", b"team", b"http"):
        assert word not in made


@pytest.mark.skipif(not importlib.util.find_spec("spdx_tools"), reason="spdx-tools is not here")
@pytest.mark.parametrize("found", [built.inside(locks.TORCH, BASE), Packages(missing=("None.",))])
def test_the_tools_of_the_standard_take_it(found: Packages, tmp_path: Path) -> None:
    path = tmp_path / "image.spdx.json"
    image = built.image(plans.TORCH, locks.TORCH)
    path.write_bytes(sbom(plans.TORCH, locks.TORCH, image, found))
    argv = [sys.executable, "-m", "spdx_tools.spdx.clitools.pyspdxtools", "-i", str(path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


DPKG = """os ID=debian
os VERSION_ID="12"
has deb
deb bash 5.2.15-2+b7 amd64 installed
deb libgone 1 amd64 config-files
whole deb
has pypi
pypi file
pypi N Torch_Vision
pypi V 0.20
whole pypi
end
"""


def test_the_answer_of_a_debian_image_is_read() -> None:
    vision = Installed(kind="pypi", name="Torch_Vision", version="0.20")
    assert parse(DPKG) == Packages(
        system="debian-12", read=("deb", "pypi"), installed=(BASE, vision)
    )


def test_rpm_and_apk_are_read_too() -> None:
    rpm = "has rpm\nrpm curl 7.76-1.el9 x86_64 0\nrpm openssl 3.0-1 x86_64 1\n"
    rpm += "rpm gpg-pubkey 1 (none) 0\n"
    apk = (
        "has apk\napk P musl\napk V 1.2-r4\napk A x86_64\napk P zlib\napk V 1.3-r0\napk A x86_64\n"
    )
    found = parse(f"{rpm}whole rpm\n{apk}whole apk\nend\n")
    assert [(p.kind, p.name, p.version, p.epoch) for p in found.installed] == [
        ("apk", "musl", "1.2-r4", ""),
        ("apk", "zlib", "1.3-r0", ""),
        ("rpm", "curl", "7.76-1.el9", ""),
        ("rpm", "openssl", "3.0-1", "1"),
    ]
    assert found.missing == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (DPKG.replace("end\n", ""), "was cut"),
        (DPKG.replace("whole deb\n", ""), "dpkg packages is incomplete"),
        (DPKG.replace("whole pypi\n", ""), "Python packages is incomplete"),
        ("has pypi\nwhole pypi\nend\n", "no package database"),
        ("", "was cut"),
        (DPKG.replace("bash 5", "ba\x1bsh 5"), "1 packages in a way"),
        (DPKG.replace("pypi V 0.20\n", ""), "1 packages in a way"),
    ],
)
def test_what_is_missing_is_said(text: str, says: str) -> None:
    assert says in " ".join(parse(text).missing)


class Made:
    """A made engine whose container ends as told."""

    def __init__(self, name: str, rc: int, out: str) -> None:
        self.name, self.rc, self.out = name, rc, out
        self.asked: tuple[str, RunSpec] | None = None

    def run(self, ref: str, spec: RunSpec) -> Completed:
        self.asked = (ref, spec)
        return Completed(spec.argv, self.rc, self.out, "", False, 0.1)


def test_the_image_is_asked_without_network_and_without_a_mount() -> None:
    engine = Made("docker", 0, DPKG)
    assert packages(engine, "app").system == "debian-12"
    assert engine.asked is not None
    ref, spec = engine.asked
    assert (ref, spec.network, spec.mounts) == ("app", "none", ())


def test_an_image_without_a_shell_and_a_prefix() -> None:
    assert "no shell" in packages(Made("docker", 127, ""), "app").missing[0]
    with pytest.raises(InputError):
        packages(Made("local", 0, DPKG), "prefix")


@given(name=TEXT, version=TEXT, arch=TEXT, system=TEXT)
def test_whatever_an_image_says_the_document_is_one(
    name: str, version: str, arch: str, system: str
) -> None:
    text = f"os ID={system}\nhas deb\ndeb {name} {version} {arch} installed\n"
    text += f"rpm {name} {version} {arch} 1\npypi file\npypi N {name}\npypi V {version}\nend\n"
    document = sbom(plans.APT, locks.APT, built.image(plans.APT, locks.APT), parse(text))
    read = json.loads(document)
    check(read)
    assert read["packages"][0]["primaryPackagePurpose"] == "CONTAINER"
