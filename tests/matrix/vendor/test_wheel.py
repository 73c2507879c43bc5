"""Wheels as zip files: what they say is read, and no wheel can make the reader fall over."""

import random
import struct
import zipfile
from pathlib import Path

import pytest

from envbuild.matrix.vendor import metadata, reach, wheel
from envbuild.matrix.vendor.fatbin import Library
from envbuild.matrix.vendor.index import Listed
from envbuild.matrix.vendor.model import Unmeasurable, Unreadable, VendorFile
from tests.matrix.vendor import made

NAME = "torch-2.15.0-cp312-cp312-manylinux_2_28_x86_64.whl"
VERSION_PY = b"__version__ = '2.15.0+cu132'\ncuda: Optional[str] = '13.2'\n"


def test_what_a_wheel_says_and_holds(tmp_path: Path) -> None:
    members = {
        "torch/version.py": VERSION_PY,
        "torch/lib/libtorch_cuda.so": made.code([75, 80]),
        "torch/lib/libgomp.so.1": made.elf(b"\0GLIBC_2.17\0"),
        "torch/lib/notes.so.txt": b"no library",
    }
    facts = wheel.read(made.wheel(tmp_path, NAME, members, requires=["filelock", "triton~=3.9.0"]))
    assert (facts.name, facts.version, facts.interpreter) == ("torch", "2.15.0", "3.12")
    assert (facts.python, facts.cuda, facts.glibc) == (">=3.10", "13.2", "2.28")
    assert facts.requires == ("filelock", "triton~=3.9.0")
    assert [one.name for one in facts.libraries] == list(members)[1:3]


@pytest.mark.parametrize(
    ("text", "cuda"),
    [
        (b"cuda = '11.7'\n", "11.7"),
        (b"cuda: Optional[str] = '13.0'\n", "13.0"),
        (b"cuda: Optional[str] = None\n", None),
    ],
)
def test_the_cuda_of_a_torch(text: bytes, cuda: str | None, tmp_path: Path) -> None:
    assert wheel.read(made.wheel(tmp_path, NAME, {"torch/version.py": text})).cuda == cuda


def test_the_cuda_of_a_tensorflow(tmp_path: Path) -> None:
    path = "tensorflow/python/platform/build_info.py"
    text = b"build_info = OrderedDict([('cpu_compiler', 'clang'), ('cuda_version', '12.5.1')])"
    name = "tensorflow-2.21.0-cp312-cp312-manylinux_2_27_x86_64.whl"
    assert wheel.read(made.wheel(tmp_path, name, {path: text})).cuda == "12.5"


@pytest.mark.parametrize(
    ("tags", "glibc"),
    [
        ("cp312-cp312-manylinux_2_28_x86_64", "2.28"),
        ("cp312-abi3-manylinux_2_27_x86_64.manylinux_2_28_x86_64", "2.27"),
        ("cp310-cp310-manylinux2014_aarch64", "2.17"),
        ("py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64", "2.17"),
        ("cp310-cp310-manylinux1_x86_64", "2.5"),
        ("py3-none-any", None),
        ("cp312-cp312-win_amd64", None),
    ],
)
def test_the_c_library_of_a_tag(tags: str, glibc: str | None) -> None:
    assert wheel.glibc_of(f"torch-2.0.0-{tags}.whl") == glibc


def test_libraries_may_ask_for_more_than_the_tag_promises(tmp_path: Path) -> None:
    name = "torch-2.0.1-cp310-cp310-manylinux1_x86_64.whl"
    needs = {"torch/lib/libtorch_cpu.so": made.elf(b"\0GLIBC_2.17\0")}
    assert reach.glibc([wheel.read(made.wheel(tmp_path, name, needs))]) == "2.17"
    assert reach.glibc([wheel.read(made.wheel(tmp_path, name, {}))]) == "2.5"
    assert reach.glibc([wheel.read(made.wheel(tmp_path, NAME, needs))]) == "2.28"


def _declared(path: Path, member: bytes, size: int) -> None:
    """Let the directory of a zip file claim another size for a member."""
    content = bytearray(path.read_bytes())
    at = content.find(b"PK\x01\x02")
    while content[at + 46 : at + 46 + len(member)] != member:
        at = content.find(b"PK\x01\x02", at + 1)
    struct.pack_into("<I", content, at + 24, size)
    path.write_bytes(content)


def test_a_wheel_that_swells_is_refused_before_it_is_read(tmp_path: Path) -> None:
    members = {f"torch/lib/lib{i}.so": b"" for i in range(5)}
    path = made.wheel(tmp_path, NAME, members)
    for member in members:
        _declared(path, member.encode(), 0xFFFF_FFF0)
    with pytest.raises(Unreadable, match="larger than 16 GiB"):
        wheel.read(path)


def test_a_text_that_swells_is_refused(tmp_path: Path) -> None:
    path = made.wheel(tmp_path, NAME, {"torch/version.py": bytes(5 << 20)})
    assert path.stat().st_size < 20_000
    with pytest.raises(Unreadable, match=r"torch/version\.py is larger than 4 MiB"):
        wheel.read(path)


def test_a_member_with_more_in_it_than_declared_is_refused(tmp_path: Path) -> None:
    path = made.wheel(tmp_path, NAME, {"torch/lib/libtorch_cuda.so": made.code([75, 80])})
    _declared(path, b"torch/lib/libtorch_cuda.so", 120)
    with pytest.raises(Unreadable):
        wheel.read(path)


def test_a_broken_library_names_itself(tmp_path: Path) -> None:
    path = made.wheel(tmp_path, NAME, {"torch/lib/libtorch_cuda.so": made.code([75])[:-10]})
    with pytest.raises(Unreadable, match=r"libtorch_cuda\.so near byte"):
        wheel.read(path)


def test_a_cut_or_damaged_wheel_is_refused(tmp_path: Path) -> None:
    path = made.wheel(tmp_path, NAME, {"torch/lib/libtorch_cuda.so": made.code(range(75, 90), 40)})
    whole = path.read_bytes()
    for end in range(0, len(whole) - 1, 37):
        path.write_bytes(whole[:end])
        with pytest.raises(Unreadable):
            wheel.read(path)
    for at in (58, 60, 80, 100):  # the compressed bytes of the library
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        with pytest.raises(Unreadable):
            wheel.read(path)


def test_no_damage_is_a_traceback(tmp_path: Path) -> None:
    dice = random.Random(5)  # noqa: S311 - not for secrets
    path = made.wheel(tmp_path, NAME, {"torch/lib/libtorch_cuda.so": made.code(range(75, 90))})
    whole = path.read_bytes()
    refused = 0
    for _ in range(3000):
        content = bytearray(whole)
        for _ in range(dice.choice([1, 2, 5])):
            content[dice.randrange(len(content))] = dice.randrange(256)
        path.write_bytes(content)
        try:
            wheel.read(path)
        except Unreadable:
            refused += 1
    assert refused > 2000  # the rest changed what nobody reads, a time or a comment


def test_a_zip_that_is_no_wheel_is_refused(tmp_path: Path) -> None:
    path = tmp_path / NAME
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme", b"")
    with pytest.raises(Unreadable, match="METADATA"):
        wheel.read(path)


def _facts(*requires: str, interpreter: str = "3.12") -> wheel.WheelFacts:
    return wheel.WheelFacts(
        name="torch", version="2.15.0", interpreter=interpreter, requires=requires
    )


def test_pins_hold_for_linux_and_the_wheels_own_interpreter() -> None:
    facts = _facts(
        "nvidia-cudnn-cu13==9.26.0.51; platform_system == 'Linux'",
        "triton==3.5.1; platform_system == 'Linux' and platform_machine == 'x86_64'",
        "pytorch-triton-rocm==3.5.1; platform_system == 'Windows'",
        "networkx (==2.5) ; python_version < '3.11'",
        "numpy>=1; extra == 'numpy'",
        "this is not a requirement",
        "setuptools",
    )
    assert metadata.pin(facts, r"nvidia-cudnn-cu\d+", "x86_64") == "9.26.0.51"
    assert metadata.pin(facts, "triton", "x86_64") == "3.5.1"
    assert metadata.pin(facts, "triton", "aarch64") is None
    assert metadata.pin(facts, "networkx", "x86_64") is None
    assert metadata.pin(facts, "numpy", "x86_64") is None
    older = _facts("networkx (==2.5) ; python_version < '3.11'", interpreter="3.10")
    assert metadata.pin(older, "networkx", "x86_64") == "2.5"


def test_a_compatible_release_is_a_pin_and_a_range_is_none() -> None:
    assert metadata.pin(_facts("triton~=3.9.0"), "triton", "x86_64") == "3.9.0"
    with pytest.raises(Unmeasurable, match="triton"):
        metadata.pin(_facts("triton>=3"), "triton", "x86_64")


def _listed(*tags: str) -> list[Listed]:
    from packaging.tags import parse_tag
    from packaging.version import Version

    file = VendorFile(project="torch", version="2.15.0", file="", sha256="")
    return [Listed(file, Version("2.15.0"), parse_tag(tag)) for tag in tags]


@pytest.mark.parametrize(
    ("tags", "range_", "pythons"),
    [
        (["cp311-cp311-any", "cp313-cp313-any"], "", ("3.11", "3.13")),
        (["cp313-cp313t-any"], "", ()),
        (["cp311-cp311-any", "cp312-abi3-any"], "<3.14", ("3.11", "3.12", "3.13")),
        (["py3-none-any"], ">=3.12", ("3.12", "3.13", "3.14")),
        (["cp37-cp37m-any"], "", ("3.7",)),
        (["pp311-pypy311_pp73-any"], "", ()),
        (["py2.py3-none-any"], "nonsense", ("3.7", "3.11", "3.12", "3.13", "3.14")),
    ],
)
def test_interpreters_that_have_a_wheel(
    tags: list[str], range_: str, pythons: tuple[str, ...]
) -> None:
    known = ("3.7", "3.11", "3.12", "3.13", "3.14")
    assert metadata.pythons(_listed(*tags), range_, known) == pythons


def _library(*sass: tuple[str, int], fatbins: int = 10) -> Library:
    return Library(name="lib.so", machine="x86_64", fatbins=fatbins, sass=sass)


def test_targets_of_a_few_kernels_are_not_the_librarys() -> None:
    sass = (("75", 9), ("80", 10), ("90a", 1), ("100", 5))
    assert reach.general(sass, 10) == ("75", "80", "100")
    assert reach.special(sass, 10) == ("90a",)


@pytest.mark.parametrize(
    ("libraries", "floor"),
    [
        ([], None),
        ([_library()], None),
        ([_library(("50", 1), ("80", 9))], "5.0"),
        ([_library(("50", 1), ("75", 9)), _library(("75", 1))], "7.5"),  # cuDNN 9.11
        ([_library(("70", 1)), _library(("75", 1))], "7.5"),  # code for 7.0 runs on 7.5
        ([_library(("60", 1)), _library(("61", 1))], "6.1"),
        ([_library(("90a", 1)), _library(("90", 1))], "9.0"),
        ([_library(("100f", 1)), _library(("103", 1))], "10.3"),
        ([_library(("100a", 1)), _library(("103", 1))], None),  # 'a' code runs on its own only
        ([_library(("80", 1)), _library(("90", 1))], None),
        ([_library(("80", 1)), _library(), _library(("86", 1))], "8.6"),
    ],
)
def test_the_lowest_capability_that_all_libraries_reach(
    libraries: list[Library], floor: str | None
) -> None:
    assert reach.floor(libraries) == floor
