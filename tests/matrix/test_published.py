"""The rows against tables that others published, in both directions.

`published.json` is a copy of those tables, with their addresses. What of them has no row, because
there is nothing that a row could say:

- the driver that CUDA 13.4 and 13.5 shipped with: none did, and no table names one;
- tensorflow before 2.14: its wheels bring no CUDA, and pip cannot ask for one beside them.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from envbuild.matrix.load import load, load_names
from envbuild.matrix.model import Product
from envbuild.matrix.names import ccs

PUBLISHED: dict[str, Any] = json.loads(Path(__file__).with_name("published.json").read_text())
PRODUCTS: dict[str, Product] = {row.name: row for row in load_names().products}

# Where the tables are at odds, the device list of pci.ids decides: it names the die.
OVERRULED = {
    "GeForce 910M": ("5.2", "3.5", "GK208B"),
    "Quadro M3000M": ("5.0", "5.2", "GM204"),
    "Quadro M4000M": ("5.0", "5.2", "GM204"),
    "Quadro M5000M": ("5.0", "5.2", "GM204"),
}

# Rows of products that no published table of capabilities has.
ADDED = {
    "CMP 170HX": "pci.ids: a GA100",
    "B100": "the vendor's table of fabric managers, and pci.ids: a GB100",
    "HGX B200": "the GPU Operator's platform support: it needs another driver than a B200",
    "Jetson TX1": "the lists of Jetsons that L4T supports: 5.3",
}

FERMI = {f"GF{number}" for number in (100, 104, 106, 108, 110, 114, 116, 117, 119)}
"""Dies that no supported toolkit compiles for: rows, so that an old card is called by name."""


@pytest.mark.parametrize("cc", PUBLISHED["products"])
def test_every_published_product_has_its_capability(cc: str) -> None:
    for name in PUBLISHED["products"][cc]:
        found = ccs([PRODUCTS[name]])
        if name in OVERRULED:
            said, is_, die = OVERRULED[name]
            assert (said, (is_,), die in PRODUCTS[name].dies) == (cc, found, True), name
        else:
            assert cc in found, name


def test_every_product_is_published_or_has_its_reason() -> None:
    published = {name for names in PUBLISHED["products"].values() for name in names}
    fermi = {name for name, row in PRODUCTS.items() if row.dies and set(row.dies) <= FERMI}
    assert len(fermi) == 95
    assert set(PRODUCTS) - published == set(ADDED) | fermi


def test_no_product_contradicts_its_die() -> None:
    capabilities = {row.die: row.cc for row in load_names().dies}
    for row in PRODUCTS.values():
        assert {capabilities[die] for die in row.dies} <= set(ccs([row])), row.name


def test_dies_and_their_pci_ids() -> None:
    rows = {row.die: [row.cc, *row.pci_ids] for row in load_names().dies}
    assert {die: rows[die] for die in PUBLISHED["dies"]} == PUBLISHED["dies"]
    assert set(rows) - set(PUBLISHED["dies"]) == FERMI


@pytest.mark.parametrize("cuda", PUBLISHED["images"])
def test_every_published_image_has_its_row(cuda: str) -> None:
    rows = {row.os: row for row in load().images if row.cuda == cuda}
    seen = set()
    for flavours, systems in PUBLISHED["images"][cuda].items():
        for os in systems.split():
            row = rows[os]
            cudnn = {f"{row.cudnn}-{one}" for one in row.cudnn_flavours} if row.cudnn else set()
            assert {*row.flavours, *cudnn} == set(flavours.split()), os
            seen.add(os)
    assert seen == set(rows), "a row without a Dockerfile in the vendor's tree"


def test_a_later_image_was_seen_by_somebody() -> None:
    later = [row for row in load().images if row.cuda not in PUBLISHED["images"]]
    assert min(row.cuda for row in later) == "12.9.2"
    # The tree of Dockerfiles says only which architectures a tag has; that it exists, another.
    assert not [row for row in later if set(row.source) <= {"image-dist"}]
    assert not [row for row in later if row.status == "measured"]


@pytest.mark.parametrize("torch", PUBLISHED["torch"])
def test_every_published_wheel_of_torch(torch: str) -> None:
    builds = [b for b in load().torch if (b.torch, b.index, b.arch) == (torch, "pypi", "x86_64")]
    published = PUBLISHED["torch"][torch]
    for build in builds:
        assert {field: getattr(build, field) for field in published} == {
            **published,
            "targets": tuple(published["targets"]),
        }
    assert len(builds) == 1


def test_compilers_and_drivers_of_every_toolkit() -> None:
    vendor = [row for row in load().toolkits if row.cuda not in {"10.2", "11.4"}]
    assert {row.cuda: [row.gcc_max, row.clang_max] for row in vendor} == PUBLISHED["compilers"]
    drivers = {row.cuda: row.driver for row in vendor}
    assert {cuda: drivers[cuda] for cuda in PUBLISHED["drivers"]} == PUBLISHED["drivers"]
    assert [cuda for cuda, driver in drivers.items() if driver is None] == ["13.4", "13.5"]


@pytest.mark.parametrize(
    ("release", "requirement", "cuda", "cc"),
    [
        ("2.15.1", "tensorflow[and-cuda]<2.16", "12.2", "5.0"),
        ("2.17.1", "tensorflow[and-cuda]<2.18", "12.3", "6.0"),
        ("2.18.1", "tensorflow[and-cuda]<2.19", "12.5", "6.0"),
        ("2.20.0", "tensorflow[and-cuda]<2.21", "12.5", "6.0"),
        ("2.21.0", "tensorflow[and-cuda]", "12.5", "6.0"),
    ],
)
def test_every_opened_wheel_of_tensorflow(
    release: str, requirement: str, cuda: str, cc: str
) -> None:
    (row,) = (r for r in load().packages if r.name == "tensorflow" and r.version == release)
    assert (row.requirement, row.cuda_min, row.cc_min) == (requirement, cuda, cc)


def test_every_group_says_where_it_was_published() -> None:
    assert set(PUBLISHED["sources"]) == set(PUBLISHED) - {"sources"}
