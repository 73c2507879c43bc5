"""A vendor's repository, asked by this machine's apt in a root of made files: what may come of it.

The base image holds nothing but apt's and dpkg's empty files, so that all packages are the
stand-in's; its key is of the test's own.
"""

import gzip
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from envbuild.errors import EnvbuildError, InputError, MachineError, StaleError
from envbuild.io.net import Net
from envbuild.lock import openpgp
from envbuild.lock.apt import Closure, closure
from envbuild.lock.repository import refusal
from envbuild.values.codec import replace
from envbuild.values.plan import Layout, Plan
from tests.lock import serving, vendor
from tests.lock.server import Server, layer, push
from tests.render import plans

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("apt-get", "dpkg-deb", "gpg", "gpgv"))),
    reason="no apt, gpg and gpgv here",
)


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[vendor.Signer, vendor.Signer]:
    """The vendor's key, and somebody else's."""
    homes = tmp_path_factory.mktemp("keys")
    return vendor.signer(homes / "vendor"), vendor.signer(homes / "other")


class Shop(NamedTuple):
    """A served repository, the plan that pins its key, and how to ask."""

    folder: Path
    plan: Plan
    net: Net
    base: str

    def ask(self, plan: Plan | None = None) -> Closure:
        return closure(plan or self.plan, self.base, "linux/amd64", self.net, None)

    def pinned(self, **changes: object) -> Plan:
        return replace(
            self.plan, layout=Layout(archive=replace(self.plan.layout.archive, **changes))
        )


@pytest.fixture
def shop(
    tmp_path: Path, server: Server, keys: tuple[vendor.Signer, vendor.Signer]
) -> Iterator[Shop]:
    files = {"etc/apt/sources.list": b"", "var/lib/dpkg/status": b""}
    digest = push(server, "library/debian", "bookworm-slim", layer(files))
    archive = replace(plans.APT.layout.archive, key=keys[0].fingerprint)
    plan = replace(plans.APT, apt=("cuda-toolkit-12-4",), layout=Layout(archive=archive))
    folder = vendor.apt(tmp_path / "served", vendor.tiny(), keys[0])
    with serving.served(tmp_path / "served") as mirror:
        net = Net(registry_mirror=server.host, toolkit_mirror=mirror)
        yield Shop(folder, plan, net, f"docker.io/library/debian:bookworm-slim@{digest}")


def test_the_toolkit_comes_with_hashes_and_without_a_driver(shop: Shop) -> None:
    found = shop.ask()
    assert [package.name for package in found.packages] == [
        "cuda-cudart-12-4", "cuda-cudart-dev-12-4", "cuda-nvcc-12-4", "cuda-toolkit-12-4",
    ]  # fmt: skip
    assert {package.archive for package in found.packages} == {"debian12"}
    for package in found.packages:
        file = shop.folder / f"{package.name}_{package.version}_amd64.deb"
        assert package.sha256 == vendor.sha256(file)
    assert found.key is not None
    assert found.key.file == "3bf863cc.pub"
    assert found.key.sha256 == vendor.sha256(shop.folder / "3bf863cc.pub")
    assert "127.0.0.1" not in repr(found)
    assert shop.ask() == found


def test_a_driver_is_not_installed_even_if_it_is_asked_for(
    shop: Shop, keys: tuple[vendor.Signer, vendor.Signer]
) -> None:
    shutil.rmtree(shop.folder)
    root = shop.folder.parents[4]
    vendor.apt(root, vendor.tiny(), keys[0], depends="cuda-drivers")
    with pytest.raises(MachineError, match="apt cannot say"):
        shop.ask()
    dragged = shop.ask(shop.pinned(never=()))
    assert "cuda-drivers" in {package.name for package in dragged.packages}


def test_a_key_of_another_fingerprint_is_refused(shop: Shop) -> None:
    with pytest.raises(StaleError, match="is not the key that the matrices pin") as error:
        shop.ask(shop.pinned(key="A" * 40))
    assert error.value.exit_code == 7


def test_a_second_key_beside_the_pinned_one_is_refused(
    shop: Shop, keys: tuple[vendor.Signer, vendor.Signer]
) -> None:
    (shop.folder / "3bf863cc.pub").write_bytes(keys[0].public() + keys[1].public())
    with pytest.raises(StaleError, match=keys[1].fingerprint):
        shop.ask()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is not an OpenPGP key"),
        (b"<html>login</html>", "sent a web page"),
        (b"please log in", "is not an OpenPGP key"),
        (b"-----BEGIN PGP PUBLIC KEY BLOCK-----", "is not an OpenPGP key"),
    ],
)
def test_what_is_no_key_is_the_networks(shop: Shop, data: bytes, says: str) -> None:
    """Whoever wants to be trusted brings a whole key; this is a portal, or a cut connection."""
    (shop.folder / "3bf863cc.pub").write_bytes(data)
    with pytest.raises(MachineError, match=says) as error:
        shop.ask()
    assert error.value.exit_code == 4


def test_a_login_page_for_a_release_is_the_networks(shop: Shop) -> None:
    (shop.folder / "InRelease").write_bytes(b"<html>login</html>")
    with pytest.raises(MachineError) as error:
        shop.ask()
    assert error.value.exit_code == 4


def test_a_release_signed_by_another_key_is_refused(
    shop: Shop, keys: tuple[vendor.Signer, vendor.Signer]
) -> None:
    vendor.release(shop.folder, keys[1])
    with pytest.raises(StaleError, match="not signed by the key that is pinned") as error:
        shop.ask()
    assert error.value.exit_code == 7


def test_a_release_that_was_changed_is_refused(shop: Shop) -> None:
    release = shop.folder / "InRelease"
    release.write_bytes(release.read_bytes().replace(b"Label: NVIDIA CUDA", b"Label: NVIDIA CUDB"))
    with pytest.raises(StaleError, match="not signed by the key"):
        shop.ask()


def test_a_release_that_is_out_of_date_is_the_mirrors_fault(
    shop: Shop, keys: tuple[vendor.Signer, vendor.Signer]
) -> None:
    vendor.release(shop.folder, keys[0], {"Valid-Until": "Tue, 01 Dec 2020 12:00:00 UTC"})
    with pytest.raises(MachineError, match="out of date") as error:
        shop.ask()
    assert error.value.exit_code == 4


def test_an_index_that_the_release_does_not_name_is_refused(shop: Shop) -> None:
    packages = (shop.folder / "Packages").read_bytes().replace(b"12.4.131", b"12.4.132")
    (shop.folder / "Packages").write_bytes(packages)
    (shop.folder / "Packages.gz").write_bytes(gzip.compress(packages))
    with pytest.raises(StaleError, match="other bytes"):
        shop.ask()


@pytest.mark.parametrize("gone", ["InRelease", "3bf863cc.pub", "Packages"])
def test_what_is_not_there_is_exit_4(shop: Shop, gone: str) -> None:
    for path in shop.folder.glob(f"{gone}*"):
        path.unlink()
    with pytest.raises(MachineError) as error:
        shop.ask()
    assert error.value.exit_code == 4


def test_a_release_without_the_toolkit_is_named(shop: Shop) -> None:
    with pytest.raises(MachineError, match="apt cannot say") as error:
        shop.ask(replace(shop.plan, apt=("cuda-toolkit-11-9",)))
    assert "cuda-toolkit-11-9" in str(error.value)


@pytest.mark.parametrize(
    "changes", [{"key": ""}, {"key_file": ""}, {"key": "x"}, {"key_file": "../k"}]
)
def test_a_plan_without_a_key_is_exit_2(shop: Shop, changes: dict[str, str]) -> None:
    with pytest.raises(InputError):
        shop.ask(shop.pinned(**changes))


def test_a_password_in_a_mirrors_address_is_in_no_lock_and_no_error(shop: Shop) -> None:
    host = str(shop.net.toolkit_mirror).removeprefix("http://")
    with_login = shop._replace(net=replace(shop.net, toolkit_mirror=f"http://me:secret@{host}"))
    assert with_login.ask() == shop.ask()
    for path in shop.folder.glob("Packages*"):
        path.unlink()
    with pytest.raises(EnvbuildError) as error:
        with_login.ask()
    assert "secret" not in str(error.value)


def test_a_key_whose_own_signature_is_sha1_is_named() -> None:
    # Recorded: NVIDIA/cuda-repo-management issue 39, 2026-02-02.
    said = (
        "W: OpenPGP signature verification failed: "
        "https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64  InRelease: "
        "Sub-process /usr/bin/sqv returned an error code (1), error message is: Signing key on "
        "EB693B3035CD5710E231E123A4B469963BF863CC is not bound: No binding signature at time "
        "2026-01-29T20:38:48Z because: Policy rejected non-revocation signature "
        "(PositiveCertification) requiring second pre-image resistance because: SHA1 is not "
        "considered secure since 2026-02-01T00:00:00Z\n"
        "E: The repository 'https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/"
        "x86_64  InRelease' is not signed.\n"
    )
    error = refusal(said)
    assert isinstance(error, StaleError)
    assert "SHA-1" in error.what
    assert refusal("E: Unable to locate package cuda-toolkit-12-9") is None


def test_fingerprints_are_those_that_gpg_sees(keys: tuple[vendor.Signer, vendor.Signer]) -> None:
    both = keys[0].public() + keys[1].public()
    assert openpgp.fingerprints(both) == tuple(key.fingerprint for key in keys)
    with pytest.raises(ValueError, match="cut"):
        openpgp.fingerprints(_shortened(keys[0].public()))


def _shortened(armored: bytes) -> bytes:
    """The same key without its last lines."""
    lines = armored.splitlines()
    return b"\n".join([*lines[:8], b"-----END PGP PUBLIC KEY BLOCK-----"])
