"""The vendor's repository of rpm packages: no source of a plan, but a way of its own."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envbuild.planner.notes.base import Chosen, note
from envbuild.planner.ranges import numbers
from envbuild.planner.system import row_of
from envbuild.values.codec import replace
from envbuild.values.finding import Finding, Step

if TYPE_CHECKING:
    from envbuild.matrix.model.reference import RpmRepository


def vendor_rpm(chosen: Chosen) -> Iterator[Finding]:
    """Said where the machine takes rpm packages, or where nothing says what it takes."""
    target, place = chosen.target, chosen.choice.place
    name = target.host_os
    if not target.on_host or name is None or target.windows or place.own:
        return
    row = row_of(chosen.table, name)
    if row is not None and row.family == "apt":
        return
    from envbuild.matrix.load import load_reference

    known = load_reference().rpm_repositories
    there = next((r for r in known if any(map(_word(name).startswith, r.systems))), None)
    if there is None or target.arch not in there.arches:
        says = f"no repository of the vendor for {name} ({target.arch}) is in these matrices"
        yield note("vendor-repository", "info", f"{says}: {place.source} needs none", place.cite)
        return
    source = f"rpm_repositories/{there.name} {there.status}"
    seen = f"the vendor's repository {there.name}, where CUDA {_span(there)} was seen"
    if not numbers(there.cuda_min) <= numbers(place.cuda) <= numbers(there.cuda_max):
        says = f"{seen}, is not known to have CUDA {place.cuda}: {place.source} has it"
        yield note("vendor-repository", "info", says, source)
        return
    says = f"another way is {seen}: {there.manager.rstrip('5')} installs it, envbuild does not"
    found = note("vendor-repository", "info", says, source)
    yield replace(found, steps=_steps(chosen, there))


def _word(name: str) -> str:
    return name.lower().replace(" ", "")


def _span(row: "RpmRepository") -> str:
    one = row.cuda_min == row.cuda_max
    return row.cuda_min if one else f"{row.cuda_min} to {row.cuda_max}"


def _steps(chosen: Chosen, row: "RpmRepository") -> tuple[Step, ...]:
    """Check the key, add the repository, install the toolkit and no driver."""
    from envbuild.advice.fixes import repository

    cuda = chosen.choice.place.cuda
    url = row.url.format(arch=repository.folder(chosen.target.arch))
    file = f"{row.key[-8:]}.pub"
    key = f"{url.rpartition('/')[0]}/{file}"
    package = f"cuda-toolkit-{cuda.replace('.', '-')}"
    whole = "the fingerprint" if len(row.key) > 8 else "a fingerprint that ends in"
    manager = row.manager.rstrip("5")
    quiet = ("--non-interactive", "install") if manager == "zypper" else ("install", "-y")
    added = repository.zypper(url)[:1] if manager == "zypper" else (_dnf(row, url),)
    return (
        Step(
            why="fetch the key that signs the repository; nothing trusts it yet",
            argv=("curl", "-fsSLO", key),
            check=f"gpg --show-keys {file}: {whole} {row.key}, and no other key",
        ),
        Step(
            why="let rpm use the key",
            argv=("sudo", "rpm", "--import", file),
            check="rpm -q gpg-pubkey",
        ),
        *added,
        Step(
            why="install the toolkit alone; `cuda` and `cuda-drivers` would bring a driver",
            argv=("sudo", manager, *quiet, package),
            check=f"/usr/local/cuda-{cuda}/bin/nvcc --version",
        ),
    )


def _dnf(row: "RpmRepository", url: str) -> Step:
    from envbuild.advice.fixes import repository

    return repository.dnf(url, new=row.manager == "dnf5")
