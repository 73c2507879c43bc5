"""What people type finds the right row, and where it cannot, all it can be is said."""

from pathlib import Path

import pytest

from envbuild.errors import InputError
from envbuild.matrix.load import OVERLAY, load_names
from envbuild.matrix.names import cc_of, ccs, die_of_pci, likely, product

# Names as nvidia-smi prints them (recorded in public reports) and as people shorten them.
ONE = [
    ("1080ti", "GeForce GTX 1080 Ti", "6.1"),
    ("GTX 1080 Ti", "GeForce GTX 1080 Ti", "6.1"),
    ("NVIDIA GeForce GTX 1080 Ti", "GeForce GTX 1080 Ti", "6.1"),
    ("geforce 1080 ti", "GeForce GTX 1080 Ti", "6.1"),
    ("GTX 1060 6GB", "GeForce GTX 1060 6GB", "6.1"),
    ("gtx1050", "GeForce GTX 1050", "6.1"),
    ("Tesla T4", "T4", "7.5"),
    ("NVIDIA T4", "T4", "7.5"),
    ("Tesla P40", "Tesla P40", "6.1"),
    ("P40", "Tesla P40", "6.1"),
    ("Tesla P100", "Tesla P100", "6.0"),
    ("Tesla P100-PCIE-16GB", "Tesla P100 PCIe 16GB", "6.0"),
    ("Tesla K80", "Tesla K80", "3.7"),
    ("K80", "Tesla K80", "3.7"),
    ("V100", "V100", "7.0"),
    ("Tesla V100-SXM2-16GB", "Tesla V100 SXM2 16GB", "7.0"),
    ("NVIDIA TITAN V", "TITAN V", "7.0"),
    ("NVIDIA TITAN Xp", "TITAN Xp", "6.1"),
    ("GeForce GTX TITAN X", "GeForce GTX TITAN X", "5.2"),
    ("NVIDIA TITAN X (Pascal)", "TITAN X (Pascal)", "6.1"),
    ("RTX 2080 Max-Q", "GeForce RTX 2080 with Max-Q Design", "7.5"),
    ("GTX 1650", "GeForce GTX 1650", "7.5"),
    ("Quadro RTX 8000", "Quadro RTX 8000", "7.5"),
    ("A100", "A100", "8.0"),
    ("A100 80GB", "A100", "8.0"),
    ("NVIDIA A100-SXM4-40GB", "A100-SXM4-40GB", "8.0"),
    ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "A100-SXM4-40GB", "8.0"),
    ("A6000", "RTX A6000", "8.6"),
    ("3090", "GeForce RTX 3090", "8.6"),
    ("RTX 3080 mobile", "GeForce RTX 3080 Laptop GPU", "8.6"),
    ("NVIDIA GeForce RTX 3080 Laptop GPU", "GeForce RTX 3080 Laptop GPU", "8.6"),
    ("GeForce RTX 4090", "GeForce RTX 4090", "8.9"),
    ("RTX 4060 Ti 16GB", "GeForce RTX 4060 Ti", "8.9"),
    ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada", "8.9"),
    ("L40S", "L40S", "8.9"),
    ("NVIDIA H100 80GB HBM3", "H100 80GB HBM3", "9.0"),
    ("H100 SXM5", "H100", "9.0"),
    ("H200", "H200", "9.0"),
    ("NVIDIA GH200 480GB", "GH200 480GB", "9.0"),
    ("B200", "B200", "10.0"),
    ("GB200 NVL72", "GB200", "10.0"),
    ("RTX 5090", "GeForce RTX 5090", "12.0"),
    ("rtx5090", "GeForce RTX 5090", "12.0"),
    ("NVIDIA GB10", "GB10", "12.1"),
    ("DGX Spark", "GB10", "12.1"),
    ("GRID V100-8Q", "V100", "7.0"),
    ("GRID V100DX-32Q", "V100", "7.0"),
    ("GRID T4-16C", "T4", "7.5"),
    ("NVIDIA A40-48Q", "A40", "8.6"),
    ("NVIDIA A100-4-20C", "A100", "8.0"),
    ("NVIDIA RTX6000-Ada-48Q", "RTX 6000 Ada", "8.9"),
    ("AGX Orin", "Jetson AGX Orin", "8.7"),
    ("Jetson AGX Thor", "Jetson T5000", "11.0"),
    ("Jetson TX2", "Jetson TX2", "6.2"),
    ("RTX 3050 A", "GeForce RTX 3050 A Laptop GPU", "8.9"),
    ("RTX 4070 laptop", "GeForce RTX 4070 Laptop GPU", "8.9"),
    ("RTX PRO 4000", "RTX PRO 4000 Blackwell", "12.0"),
    ("RTX PRO 6000 Blackwell Max-Q", "RTX PRO 6000 Blackwell Max-Q Workstation Edition", "12.0"),
    ("Jetson AGX Thor Developer Kit", "Jetson T5000", "11.0"),
    ("Jetson Orin Nano Super", "Jetson Orin Nano", "8.7"),
    ("Grace Hopper", "GH200", "9.0"),
    ("GTX 1080 Ti (Pascal)", "GeForce GTX 1080 Ti", "6.1"),
    ("CMP 170HX", "CMP 170HX", "8.0"),
    ("B100", "B100", "10.0"),
    ("RTX 5000 Ada", "RTX 5000 Ada", "8.9"),
    ("RTX 2000 Ada", "RTX 2000 Ada", "8.9"),
]

ALONE = [
    ("RTX 3500 Ada", "RTX 3500 Ada Laptop GPU"),
]


@pytest.mark.parametrize(("text", "name", "cc"), ONE)
def test_a_name_finds_its_product(text: str, name: str, cc: str) -> None:
    rows = product(text)
    assert [row.name for row in rows] == [name]
    assert ccs(rows) == (cc,)


@pytest.mark.parametrize(
    ("text", "can_be"),
    [
        ("GT 1030", ("3.0", "6.1")),
        ("GeForce GT 730", ("2.1", "3.0", "3.5")),
        ("GT 710", ("2.1", "3.5")),
        ("GT 640 OEM", ("2.1", "3.0")),
        ("GT 630", ("2.1", "3.0", "3.5")),
        ("GTX 860M", ("3.0", "5.0")),
        ("Titan X", ("5.2", "6.1")),
        ("RTX 6000", ("7.5", "8.9")),
        ("RTX 4000", ("7.5", "8.9")),
    ],
)
def test_a_name_of_several_chips_says_all_of_them(text: str, can_be: tuple[str, ...]) -> None:
    assert ccs(product(text)) == can_be


@pytest.mark.parametrize(("text", "name"), ALONE)
def test_a_part_of_laptops_alone_is_found_without_that_word(text: str, name: str) -> None:
    assert name in [row.name for row in product(text)]


@pytest.mark.parametrize(
    ("text", "cc"),
    [
        ("GT 1030", "6.1"),
        ("GTX 750 Ti", "5.0"),
        ("GTX 1080 Ti", "6.1"),
        ("GT 730", None),
        ("GTX 860M", None),
        ("RTX 6000", None),
        ("Titan X", None),
    ],
)
def test_of_two_chips_the_likelier_is_meant_only_where_few_are_the_other(
    text: str, cc: str | None
) -> None:
    assert likely(product(text)) == cc


def test_one_name_with_several_chips_has_no_cc_of_its_own() -> None:
    (row,) = product("GT 1030")
    assert row.cc is None
    assert row.by_die[0] == ("GP108", "6.1"), "the likelier die comes first"


def test_one_product_in_several_editions_agrees_on_its_cc() -> None:
    rows = product("RTX PRO 6000 Blackwell")
    assert len(rows) == 3
    assert ccs(rows) == ("12.0",)


@pytest.mark.parametrize(
    ("text", "near"),
    [("GTX 1080 TX", "GeForce GTX 1080 Ti"), ("RTX 50900", "GeForce RTX 5090"), ("H2000", "H200")],
)
def test_an_unknown_name_offers_the_nearest(text: str, near: str) -> None:
    with pytest.raises(InputError) as e:
        product(text)
    assert near in e.value.why
    assert "--cc" in e.value.fix


@pytest.mark.parametrize(
    "text", ["", "   ", "NVIDIA", "GPU", "Radeon VII", "(((", "NVIDIA Graphics Device"]
)
def test_a_name_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        product(text)


def test_a_product_of_the_overlay_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.yaml").write_text(
        "sources:\n- {id: mine, says: my own machine}\n"
        "products:\n- {name: GeForce RTX 6090, cc: '13.0', source: [mine], status: measured}\n"
    )
    with pytest.raises(InputError):
        product("RTX 6090")
    monkeypatch.setenv(OVERLAY, str(tmp_path))
    assert ccs(product("RTX 6090")) == ("13.0",)
    assert ccs(product("1080ti")) == ("6.1",)


def test_every_product_finds_itself() -> None:
    for row in load_names().products:
        for name in (row.name, f"NVIDIA {row.name}", *row.aliases):
            assert row in product(name), name


def test_turing_without_tensor_cores_is_told_by_the_product() -> None:
    assert product("GTX 1660 Ti")[0].tensor_cores is False
    assert product("T4")[0].tensor_cores is None


@pytest.mark.parametrize(
    ("text", "brand", "forward"),
    [
        ("RTX 5090", "geforcertx", False),
        ("GTX 1080", "geforce", False),
        ("TITAN RTX", "titanrtx", False),
        ("Quadro P4000", "quadro", None),
        ("RTX A6000", "nvidiartx", None),
        ("H200", "tesla", True),
        ("Tesla P40", "tesla", True),
        ("AGX Orin", "jetson", True),
    ],
)
def test_brand_as_the_driver_says_it(text: str, brand: str, forward: bool | None) -> None:
    row = product(text)[0]
    assert (row.brand, row.forward_compat) == (brand, forward)


@pytest.mark.parametrize(
    ("pci_id", "die", "cc"),
    [
        ("10de:1b06", "GP102", "6.1"),
        ("10DE:2335", "GH100", "9.0"),
        ("0x10de:0x2b85", "GB202", "12.0"),
        ("1eb8", "TU104", "7.5"),
        ("10de:0f02", "GF108", "2.1"),
    ],
)
def test_a_pci_id_tells_the_die(pci_id: str, die: str, cc: str) -> None:
    row = die_of_pci(pci_id)
    assert row is not None
    assert (row.die, row.cc) == (die, cc)


@pytest.mark.parametrize("pci_id", ["1002:1b06", "10de:ffff", "", "10de:"])
def test_another_vendor_or_an_unknown_id_is_none(pci_id: str) -> None:
    assert die_of_pci(pci_id) is None


@pytest.mark.parametrize(
    ("text", "cc"),
    [
        ("6.1", "6.1"),
        ("61", "6.1"),
        ("sm_61", "6.1"),
        ("SM_61", "6.1"),
        ("compute_61", "6.1"),
        ("sm61", "6.1"),
        ("sm 8.6", "8.6"),
        ("sm_90a", "9.0"),
        ("120f", "12.0"),
        ("10.3a", "10.3"),
        ("100", "10.0"),
        ("12.1", "12.1"),
        ("sm_101", "11.0"),
        (" 7.5 ", "7.5"),
    ],
)
def test_a_capability_in_every_spelling(text: str, cc: str) -> None:
    assert cc_of(text) == cc


@pytest.mark.parametrize(
    ("text", "near"),
    [("99", "9.0, 10.0"), ("6.3", "6.2, 7.0"), ("sm_62x", "6.2"), ("1", "2.0"), ("abc", "12.1")],
)
def test_an_unknown_capability_names_the_nearest(text: str, near: str) -> None:
    with pytest.raises(InputError) as e:
        cc_of(text)
    assert near in e.value.why
    assert e.value.exit_code == 2
