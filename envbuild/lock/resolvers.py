"""Resolvers of Python requirements: uv where it is there, else pip's report.

Both run with the user's constraints, indexes, find-links and configuration switched off; only
`Net`'s index, CA and proxies reach them.
"""

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from envbuild.errors import MachineError, NoPlanError
from envbuild.io import pip, proc
from envbuild.io.net import Net, ca_bundle
from envbuild.io.workspace import private_folder

_TIMEOUT = 900.0  # seconds; pip may have to download whole wheels to read what they need
# Where uv keeps its cache, and how patient it is; the rest of UV_* changes what it would choose.
_PASSED = frozenset({"UV_CACHE_DIR", "UV_HTTP_RETRIES", "UV_HTTP_TIMEOUT"})
_PIN = re.compile(r"([A-Za-z0-9._-]+)==(\S+)")
_FROM = "    # from "


class Target(NamedTuple):
    """Where the wheels will be installed: Python ``3.11``, ``x86_64``, glibc 2.x as x."""

    python: str
    arch: str
    glibc: int

    @property
    def platforms(self) -> list[str]:
        """Platform tags it takes, best first."""
        legacy = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
        least = 5 if self.arch == "x86_64" else 17
        tags = []
        for minor in range(self.glibc, least - 1, -1):
            tags.append(f"manylinux_2_{minor}_{self.arch}")
            if minor in legacy:
                tags.append(f"{legacy[minor]}_{self.arch}")
        return [*tags, f"linux_{self.arch}"]


class Pin(NamedTuple):
    """One resolved project.

    Attributes:
        sha256: hashes (hex) that its file may have.
        index_url: the index it is from, where the resolver says so (uv).
        file: the file itself, where the resolver says so (pip).
    """

    name: str
    version: str
    sha256: frozenset[str] = frozenset()
    index_url: str | None = None
    file: str | None = None


class Wanted(NamedTuple):
    """Requirements, and the index of a framework beside the default one: its name and address.

    ``kept`` are versions (``numpy==2.1``) that no other may stand for, if they are needed at all.
    """

    requirements: tuple[str, ...]
    extra: tuple[str, str] | None
    kept: tuple[str, ...] = ()


def resolve(wanted: Wanted, target: Target, net: Net) -> list[Pin]:
    """The whole closure, pinned.

    Raises:
        NoPlanError: the requirements contradict each other, or the index lacks them.
        MachineError: no resolver, or no index that answers.
    """
    if net.offline:
        raise MachineError(
            "wheels would be resolved, and --offline is set", fix="run it once without --offline"
        )
    uv = find_uv()
    return with_uv(uv, wanted, target, net) if uv else with_pip(wanted, target, net)


def find_uv() -> str | None:
    """The uv beside this Python, or on PATH."""
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.is_file() else shutil.which("uv")


def with_uv(uv: str, wanted: Wanted, target: Target, net: Net) -> list[Pin]:
    """Resolve with ``uv pip compile``."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("UV_", "PIP_")) or k in _PASSED}
    if bundle := ca_bundle(net):
        env["SSL_CERT_FILE"] = bundle
    if net.index_url:
        env["UV_DEFAULT_INDEX"] = net.index_url
    if wanted.extra:
        env["UV_INDEX"] = wanted.extra[1]
    # uv knows these C libraries by name; a later one takes what an earlier one takes.
    glibc = max(x for x in (17, 28, *range(31, 41)) if x <= max(target.glibc, 17))
    argv = [uv, "pip", "compile", "-", "--no-config", "--quiet", "--no-header", "--no-annotate"]
    argv += ["--python", sys.executable, "--python-version", target.python]
    argv += ["--python-platform", f"{target.arch}-manylinux_2_{glibc}"]
    argv += ["--generate-hashes", "--emit-index-annotation", "--only-binary", ":all:"]
    argv += ["--index-strategy", "unsafe-best-match"]
    data = "\n".join(wanted.requirements).encode()
    with private_folder() as folder:
        argv += _kept(wanted, folder)
        done = proc.run(argv, timeout=_TIMEOUT, env=env, stdin=data)
    return _pins(_checked(done, "uv"))


def _kept(wanted: Wanted, folder: Path) -> list[str]:
    """Versions that stay, as both resolvers take them."""
    if not wanted.kept:
        return []
    path = folder / "constraints.txt"
    path.write_text("".join(f"{pin}\n" for pin in wanted.kept), encoding="utf-8")
    return ["--constraint", str(path)]


def _pins(text: str) -> list[Pin]:
    """Read uv's requirements with hashes and ``# from INDEX`` notes."""
    pins: list[Pin] = []
    for line in text.splitlines():
        if match := _PIN.match(line):
            pins.append(Pin(match[1], match[2]))
        elif "--hash=sha256:" in line:
            digest = line.partition("--hash=sha256:")[2].rstrip(" \\")
            pins[-1] = pins[-1]._replace(sha256=pins[-1].sha256 | {digest})
        elif line.startswith(_FROM):
            pins[-1] = pins[-1]._replace(index_url=line.removeprefix(_FROM).strip())
    return pins


def with_pip(wanted: Wanted, target: Target, net: Net) -> list[Pin]:
    """Resolve with the report of ``pip install --dry-run``."""
    if not sys.platform.startswith("linux"):
        raise MachineError(
            "pip judges markers by this machine, which is not Linux", fix="pip install uv"
        )
    tag = f"cp{target.python.replace('.', '')}"
    env = pip.environment(net)
    if wanted.extra:
        env["PIP_EXTRA_INDEX_URL"] = wanted.extra[1]
    with private_folder() as folder:
        report = folder / "report.json"
        argv = [*pip.command(), "install", "--quiet", "--dry-run", "--ignore-installed"]
        argv += ["--report", str(report), "--target", str(folder), "--only-binary=:all:"]
        argv += ["--python-version", target.python, "--implementation", "cp", "--abi", tag]
        argv += ["--abi", "abi3", "--abi", "none"]
        argv += [word for platform in target.platforms for word in ("--platform", platform)]
        argv += _kept(wanted, folder)
        _checked(proc.run([*argv, *wanted.requirements], timeout=_TIMEOUT, env=env), "pip")
        entries = json.loads(report.read_bytes())["install"]
    return [_reported(entry) for entry in entries]


def _reported(entry: dict[str, Any]) -> Pin:
    """One entry of pip's report."""
    about, source = entry["metadata"], entry["download_info"]
    return Pin(
        re.sub(r"[-_.]+", "-", about["name"]).lower(),
        about["version"],
        frozenset({source["archive_info"]["hashes"]["sha256"]}),
        file=unquote(urlsplit(source["url"]).path.rpartition("/")[2]),
    )


def _checked(done: proc.Completed, tool: str) -> str:
    if done.rc == 0:
        return done.out
    why = " ".join(done.err.split())[-600:]
    if done.timed_out:
        why = f"no end after {done.seconds:.0f} s"
    elif re.search(r"[Nn]o solution found|ResolutionImpossible|No matching distribution", done.err):
        what = f"{tool} finds no set of wheels for this plan"
        raise NoPlanError(what, why=why, fix="loosen a --with, or check --index-url")
    what = f"{tool} cannot resolve the wheels"
    raise MachineError(what, why=why, fix="check the network, --index-url and --ca-cert")
