"""What is installed in an image, asked of the image itself: its package database, its Python."""

import re
from collections.abc import Iterator
from typing import Literal, Protocol

from envbuild.engines.base import RunSpec
from envbuild.errors import InputError
from envbuild.io.proc import Completed
from envbuild.values.codec import Pairs, Value

Kind = Literal["deb", "rpm", "apk", "pypi"]

_TIMEOUT = 300.0  # seconds; looking for Python's metadata walks through the whole image
_SAFE = re.compile(r"[!-~]{1,200}")
# One line a fact. A kind that the image ``has`` was read to its end only if ``whole`` says so.
# Files may end without a newline: an empty line keeps what follows apart.
_SCRIPT = r"""
export LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin
sed 's/^/os /' /etc/os-release 2>/dev/null
echo
if [ -s /var/lib/dpkg/status ] || [ -d /var/lib/dpkg/status.d ]; then
    echo has deb
    dpkg-query -W -f 'deb ${Package} ${Version} ${Architecture} ${db:Status-Status}\n' &&
        echo whole deb
fi
for folder in /var/lib/rpm /usr/lib/sysimage/rpm; do
    if [ -e $folder/rpmdb.sqlite ] || [ -e $folder/Packages ] || [ -e $folder/Packages.db ]; then
        echo has rpm
        rpm -qa --qf 'rpm %{NAME} %{VERSION}-%{RELEASE} %{ARCH} %{EPOCHNUM}\n' && echo whole rpm
        break
    fi
done
for file in /lib/apk/db/installed /usr/lib/apk/db/installed; do
    if [ -s $file ]; then
        echo has apk
        sed -n 's/^\([PVA]\):/apk \1 /p' $file && echo whole apk
        break
    fi
done
echo has pypi
find / \( -path /proc -o -path /sys -o -path /dev \) -prune -o \
    -type f \( -path '*.dist-info/METADATA' -o -path '*.egg-info/PKG-INFO' \) -exec sh -c '
    for file; do
        echo pypi file
        sed -n -e "/^.\{0,1\}$/q" -e "s/^Name: */pypi N /p" -e "s/^Version: */pypi V /p" "$file"
        echo
    done' sh {} + && echo whole pypi
echo end
"""
# States of dpkg in which a package's files are there.
_WHOLE = {"installed", "triggers-awaited", "triggers-pending", "unpacked", "half-configured"}
_CALLED = {"deb": "dpkg", "rpm": "rpm", "apk": "apk", "pypi": "Python"}


class Installed(Value):
    """One package of an image; ``epoch`` of an rpm where it is not 0."""

    kind: Kind
    name: str
    version: str
    arch: str = ""
    epoch: str = ""


class Packages(Value):
    """What an image says it holds.

    Attributes:
        system: ``debian-12``, from its os-release; empty = it does not say.
        read: kinds whose list was read to its end.
        installed: sorted, each once.
        missing: what could not be read, a sentence each; empty = nothing is missing.
    """

    system: str = ""
    read: tuple[Kind, ...] = ()
    installed: tuple[Installed, ...] = ()
    missing: tuple[str, ...] = ()


class Runner(Protocol):
    """The part of an `Engine` that is needed here."""

    name: str

    def run(self, ref: str, spec: RunSpec) -> Completed:
        """Run one command in a fresh container."""


def packages(engine: Runner, ref: str) -> Packages:
    """Ask an image what it holds, in a container without a network.

    Raises:
        InputError: the engine has no images: it would list this machine's packages.
        ImageError: the image cannot be started.
        MachineError: the engine cannot run anything.
    """
    if engine.name == "local":
        raise InputError("a prefix holds no packages of its own", fix="name an image")
    # Root reads the folders of other users by this right alone; nothing of this machine is mounted.
    argv = ("/bin/sh", "-c", _SCRIPT)
    spec = RunSpec(argv=argv, user="0", keeps=("DAC_OVERRIDE",), timeout=_TIMEOUT)
    done = engine.run(ref, spec)
    if done.rc in {126, 127} and not done.out:
        return Packages(missing=("The image has no shell: its packages could not be read.",))
    return parse(done.out)


def parse(text: str) -> Packages:
    """What the script printed; an image can print anything, and what is no package is not one."""
    lines = [line.split(" ") for line in text.splitlines()]
    seen = {(word, kind) for word, kind, *_ in (w for w in lines if len(w) == 2)}
    named = list(_entries(lines))
    found, odd = set(filter(None, named)), named.count(None)
    kinds: tuple[Kind, ...] = ("deb", "rpm", "apk", "pypi")
    has = [kind for kind in kinds if ("has", kind) in seen]
    whole = ["end"] in lines
    read = tuple(kind for kind in has if ("whole", kind) in seen and whole)
    missing = [
        f"The image's list of {_CALLED[k]} packages is incomplete." for k in has if k not in read
    ]
    if not whole:
        missing.append("The image's answer was cut: more may be installed.")
    elif not set(has) - {"pypi"}:
        missing.append("The image has no package database of dpkg, rpm or apk.")
    if odd:
        missing.append(f"The image names {odd} packages in a way that no package is named.")
    return Packages(
        system=_system(text),
        read=read,
        installed=tuple(sorted(found, key=lambda p: (p.kind, p.name, p.version, p.arch, p.epoch))),
        missing=tuple(missing),
    )


def _entries(lines: list[list[str]]) -> Iterator[Installed | None]:
    """The packages that lines name; None for one that is none."""
    record: dict[str, str] = {}
    for kind, *words in [*lines, ["end"]]:
        if record and (kind != record["kind"] or words[:1] in (["P"], ["file"])):
            yield _recorded(record)
            record = {}
        match kind, words:
            case "deb", [name, version, arch, status]:
                if status in _WHOLE:
                    yield _safe("deb", name, version, arch)
            case "rpm", ["gpg-pubkey", *_]:
                pass  # a key that rpm trusts, not software
            case "rpm", [name, version, arch, epoch]:
                yield _safe("rpm", name, version, arch, "" if epoch == "0" else epoch)
            case (("apk" | "pypi"), [field, *rest]):
                record["kind"] = kind
                record.setdefault(field, " ".join(rest).rstrip("\r"))
            case (("deb" | "rpm"), _):
                yield None
            case _:
                pass


def _recorded(record: dict[str, str]) -> Installed | None:
    if record["kind"] == "apk":
        return _safe("apk", *(record.get(field, "") for field in "PVA"))
    return _safe("pypi", record.get("N", ""), record.get("V", ""))


def _safe(kind: Kind, name: str, version: str, arch: str = "", epoch: str = "") -> Installed | None:
    if not all(_SAFE.fullmatch(text) for text in (name, version, arch or "-", epoch or "-")):
        return None
    return Installed(kind=kind, name=name, version=version, arch=arch, epoch=epoch)


def _system(text: str) -> str:
    release = Pairs(
        tuple(re.findall(r"^os (ID|VERSION_ID)=[\"']?([\w.-]{1,40})", text, re.MULTILINE))
    )
    name, version = release.get("ID"), release.get("VERSION_ID")
    return "-".join(filter(None, (name, version))) if name else ""
