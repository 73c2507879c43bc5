"""A distribution's archive, asked by this machine's apt-get in a root of its own.

Nothing of this machine's apt state is used but the address of its archive and the keys beside it.
"""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from envbuild.io import files, proc
from envbuild.io.net import Net, ca_bundle
from envbuild.lock.archive import sources
from envbuild.matrix.vendor.model import Unreachable, VendorFile

_TIMEOUT = 1800.0  # seconds a call; a package may be a gigabyte
_KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_CONFIG = """Dir "{root}";
Dir::Log "{root}";
APT::Architecture "amd64";
APT::Architectures {{ "amd64"; "arm64"; }};
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::https::CAInfo "{ca}";
Debug::NoLocking "true";
"""
_EMPTY = (
    "etc/apt/apt.conf.d",
    "etc/apt/preferences.d",
    "etc/apt/trusted.gpg.d",
    "var/lib/apt/lists/partial",
    "var/lib/dpkg",
    "var/cache/apt/archives/partial",
)
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}


class Archive:
    """Packages of Debian releases.

    Args:
        work: folder of the private roots.
        net: archive mirror and CA.
        say: takes a line for each index that is fetched.
    """

    def __init__(self, work: Path, net: Net, say: Callable[[str], None] = lambda _: None) -> None:
        self._work = work
        self._net = net
        self._say = say
        self._roots: dict[str, Path] = {}

    def package(self, suite: str, name: str, arch: str) -> VendorFile | None:
        """The package that apt would take; None where the suite has none for this machine.

        Args:
            suite: ``bookworm main non-free``: a suite and its components.
            name: of the package.
            arch: ``x86_64`` or ``aarch64``.

        Raises:
            Unreachable: no archive, no apt-get, or one that gives nothing.
        """
        done = self._run(suite, "apt-cache", "show", "--no-all-versions", f"{name}:{DEBIAN[arch]}")
        said = dict(re.findall(r"^(Version|SHA256|Filename): (\S+)$", done.out, re.MULTILINE))
        if done.rc or len(said) < 3:
            return None
        return VendorFile(
            project=name,
            version=said["Version"],
            file=said["Filename"].rpartition("/")[2],
            sha256=said["SHA256"],
            suite=suite,
        )

    def fetch(self, file: VendorFile, folder: Path) -> str:
        """Put a package into a folder, under any name; why not, or nothing.

        Raises:
            Unreachable: no archive, no apt-get.
        """
        arch = file.file.rpartition("_")[2].removesuffix(".deb")
        wanted = f"{file.project}:{arch}={file.version}"
        done = self._run(file.suite, "apt-get", "-q", "download", wanted, cwd=folder)
        errors = [line[3:] for line in done.err.splitlines() if line.startswith("E: ")]
        return "; ".join(errors) or ("apt-get failed" if done.rc else "")

    def _run(self, suite: str, *argv: str, cwd: Path | None = None) -> proc.Completed:
        root = self._roots.get(suite)
        if root is None:
            root = self._roots[suite] = self._made(suite)
        return proc.run(argv, timeout=_TIMEOUT, env=_environment(root), cwd=cwd)

    def _made(self, suite: str) -> Path:
        """A root whose lists are there; those of an earlier run are brought up to date.

        Raises:
            Unreachable: no archive, or no apt-get.
        """
        if not (shutil.which("apt-get") and shutil.which("dpkg-deb") and _KEYS.is_file()):
            what = "no apt-get with Debian's keys is here"
            raise Unreachable(what)
        root = self._work.resolve() / f"apt-{suite.partition(' ')[0]}"
        for name in _EMPTY:
            (root / name).mkdir(parents=True, exist_ok=True)
        files.write(root / "var/lib/dpkg/status", b"")
        config = _CONFIG.format(root=root, ca=ca_bundle(self._net) or "")
        files.write(root / "apt.conf", config.encode())
        if self._net.offline:
            return root
        mirror = self._net.apt_mirror or _own_mirror()
        signed = sources((suite,), mirror).replace("deb ", f"deb [signed-by={_KEYS}] ", 1)
        files.write(root / "etc/apt/sources.list", signed.encode())
        self._say(f"index     {suite}")
        done = proc.run(("apt-get", "-q", "update"), timeout=_TIMEOUT, env=_environment(root))
        if done.rc or "W: " in done.err:
            what = f"the archive does not give {suite}: {' '.join(done.err.split())[-300:]}"
            raise Unreachable(what)
        return root


def _own_mirror() -> str:
    """Where this machine's apt takes Debian from.

    Raises:
        Unreachable: it takes Debian from nowhere.
    """
    argv = ("apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI)", "Label: Debian")
    found = re.search(r"^Debian (\S+)$", proc.run(argv, timeout=60.0).out, re.MULTILINE)
    if found is None:
        what = "this machine's apt knows no Debian archive; --apt-mirror names one"
        raise Unreachable(what)
    return found[1]


def _environment(root: Path) -> dict[str, str]:
    env = {name: text for name, text in os.environ.items() if name.lower().endswith("_proxy")}
    path = os.environ.get("PATH", os.defpath)
    return env | {"PATH": path, "LC_ALL": "C", "APT_CONFIG": str(root / "apt.conf")}
