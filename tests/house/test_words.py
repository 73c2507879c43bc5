"""Words that no committed file may hold."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Written in two parts, so that this file does not hold them either.
HOSTS = tuple(
    first + second
    for first, second in (
        ("py", "pi.org"),
        ("pytho", "nhosted.org"),
        ("registry.", "npmjs.org"),
        ("crates", ".io"),
        ("deb.", "debian.org"),
    )
)
PATTERN = re.compile("|".join(map(re.escape, HOSTS)))


def committed() -> list[Path]:
    argv = ["git", "-C", str(ROOT), "ls-files", "-z"]
    names = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def test_no_committed_file_names_a_package_registry() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in committed()
        for match in PATTERN.finditer(path.read_bytes().decode("utf-8", "replace"))
    ]
    assert found == []


def test_the_search_finds_each_of_them() -> None:
    assert all(PATTERN.search(f"https://{host}/simple") for host in HOSTS)
