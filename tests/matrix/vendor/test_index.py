"""What a page of an index says, and what a hostile one cannot do."""

import re
from pathlib import Path

import pytest

from envbuild.errors import MachineError
from envbuild.io.net import Net
from envbuild.lock.index import IndexFile
from envbuild.matrix.vendor.index import Index
from envbuild.matrix.vendor.model import Unreachable
from envbuild.values.codec import dump

SHA = "ab" * 32


def index(folder: Path, *files: str, sha256: str = SHA) -> Index:
    """An index whose page of project ``p`` was kept by an earlier run."""
    page = [IndexFile(file, sha256, "2026-10-28T10:00:00Z") for file in files]
    (folder / "index-p.json").write_bytes(dump(page))
    return Index(folder, Net(index_url="https://index.invalid/simple", offline=True))


def test_versions_are_ordered_as_versions_and_previews_left_out(tmp_path: Path) -> None:
    names = [f"p-{v}-py3-none-manylinux1_x86_64.whl" for v in ("1.10", "1.9", "2.0rc1")]
    found = index(tmp_path, *names, "p-1.0.tar.gz", "p-1.9-py3-none-win_amd64.whl")
    assert [w.file.version for w in found.releases("p")] == ["1.9", "1.10"]
    assert found.releases("p", "aarch64") == ()
    assert {w.uploaded for w in found.wheels("p")} == {"2026-10-28"}


def test_one_wheel_is_the_oldest_interpreters(tmp_path: Path) -> None:
    names = [f"p-1-cp{v}-cp{v}-manylinux_2_28_x86_64.whl" for v in ("310", "39", "311")]
    assert index(tmp_path, *names).one("p", "1.0").file == names[1]


def test_what_is_not_listed_is_not_reachable(tmp_path: Path) -> None:
    found = index(tmp_path, "p-1-py3-none-manylinux1_x86_64.whl")
    with pytest.raises(Unreachable, match=re.escape("no Linux aarch64 wheel of p 1")):
        found.one("p", "1", "aarch64")
    with pytest.raises(MachineError, match="page of q was not read before"):
        found.wheels("q")


@pytest.mark.parametrize("sha256", ["../../x", f"{SHA}\n--index-url=http://x", "", SHA.upper()])
def test_a_hash_that_is_none_is_not_taken_for_a_file_name(sha256: str, tmp_path: Path) -> None:
    assert index(tmp_path, "p-1-py3-none-any.whl", sha256=sha256).wheels("p") == ()


@pytest.mark.parametrize("file", ["../p-1-py3-none-any.whl", "p-../1-py3-none-any.whl", "p.whl"])
def test_a_name_that_leads_elsewhere_is_no_wheel(file: str, tmp_path: Path) -> None:
    assert index(tmp_path, file).wheels("p") == ()
