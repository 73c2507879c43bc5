"""A build context on disk: its files, a Dockerfile for this network, its secrets."""

import datetime as dt
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from envbuild.engines import bundled, names
from envbuild.errors import InputError
from envbuild.io import dockerconfig, files
from envbuild.io.net import Net, apt_auth, logged_in, netrc, plain
from envbuild.render.view import PLATFORMS
from envbuild.values.codec import load
from envbuild.values.finding import Step
from envbuild.values.image import BuildContext, File
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan

T = TypeVar("T")
#: Of a folder without a plan: zip cannot say anything before 1980.
EPOCH = 315532800


class Staged(NamedTuple):
    """Where things are: the context, the Dockerfile to build from, secrets as (id, file)."""

    context: Path
    dockerfile: Path
    secrets: tuple[tuple[str, Path], ...]


class Order(NamedTuple):
    """What to build of a context.

    ``tag`` empty = no name; ``platform`` and ``network`` empty = the engine's own; ``target``
    empty = the last stage. ``unset`` are proxy variables that docker must not give to the build.
    """

    tag: str
    platform: str = ""
    network: str = ""
    target: str = ""
    unset: tuple[str, ...] = ()

    def flags(self) -> list[str]:
        """As docker and podman spell it, one entry an argument."""
        named = (
            ("tag", self.tag),
            ("platform", self.platform),
            ("network", self.network),
            ("target", self.target),
        )
        return [part for name, value in named if value for part in (f"--{name}", value)]


def order(context: BuildContext, tag: str, net: Net, target: str) -> Order:
    """The order of a build; offline its steps have no network."""
    text = file_of(context, "Dockerfile") or b""
    # Somebody's own steps that know nothing of the secret get out as docker lets them.
    own = "proxy" not in context.secrets and re.search(rb"(?mi)^\s*(RUN|ADD)\s", text)
    unset = () if own else tuple(dockerconfig.proxies())
    return Order(tag, context.platform, "none" if net.offline else net.network, target, unset)


def file_of(context: BuildContext, path: str) -> bytes | None:
    """The bytes of one file of the context, None if it has no such file."""
    return next((f.data for f in context.files if f.path == path), None)


def epoch(context: BuildContext) -> int:
    """SOURCE_DATE_EPOCH of a context, seconds: the date of the matrices that its plan is from.

    A folder without a plan has `EPOCH`.

    Raises:
        InputError: what its plan has there is no date.
    """
    data = file_of(context, "plan.json")
    if data is None:
        return EPOCH
    said = load(Plan, data, "plan.json").matrix.date
    try:
        start = dt.datetime.strptime(said, "%Y-%m-%d").replace(tzinfo=dt.timezone.utc)
        return max(int(start.timestamp()), 0)
    except ValueError as e:
        what = f"plan.json is of {said!r}, which is no date"
        raise InputError(what, fix="make the plan again: envbuild plan") from e


def mirrored_bases(context: BuildContext, net: Net) -> dict[str, str]:
    """Each base that a mirror serves by digest: reference to the engine's local name for it."""
    return {
        ref: names.local_base(digest)
        for ref in context.bases
        if (digest := names.digest_of(ref)) and names.mirrored(ref, net)
    }


def secrets_of(context: BuildContext, net: Net) -> dict[str, bytes]:
    """The text of each build secret that the Dockerfile can take and this network needs.

    Raises:
        InputError: a mirror of the archive is given, and no lock says which suites it must serve.
    """
    if net.bundle:
        return bundled.secrets(context)
    found: dict[str, bytes] = {}
    if "proxy" in context.secrets and (lines := _proxy_lines(dockerconfig.proxies())):
        found["proxy"] = lines
    if "ca" in context.secrets and net.ca_cert:
        found["ca"] = files.read(net.ca_cert)
    if "apt_sources" in context.secrets and net.apt_mirror:
        from envbuild.lock.archive import sources

        if not context.apt_index:
            what = "--apt-mirror needs a lock: only it names the suites that the mirror must serve"
            raise InputError(what, fix="leave --no-lock out; before a dry run: envbuild lock")
        found["apt_sources"] = sources(context.apt_index, plain(net.apt_mirror)).encode()
    if "toolkit_mirror" in context.secrets and net.toolkit_mirror:
        found["toolkit_mirror"] = f"{plain(net.toolkit_mirror).rstrip('/')}\n".encode()
    if "apt_auth" in context.secrets and (text := apt_auth(net.apt_mirror, net.toolkit_mirror)):
        found["apt_auth"] = text
    if "pip_conf" in context.secrets and net.index_url:
        # A step cannot read this user's netrc. In an address pip would print the name, and the
        # daemon keeps what steps print.
        apart = "pip_auth" in context.secrets
        url = plain(net.index_url) if apart else logged_in(plain(net.index_url), net.index_url)
        if apart and (text := netrc(net.index_url)):
            found["pip_auth"] = text
        found["pip_conf"] = f"[global]\nindex-url = {url}\n".encode()
    return found


def _proxy_lines(proxies: Mapping[str, str]) -> bytes:
    """As a shell reads them; programs differ in which case they look for."""
    return "".join(
        f"{word}={shlex.quote(text)}\n"
        for name, text in proxies.items()
        for word in (name, name.upper())
    ).encode()


def layout(
    context: BuildContext, net: Net, root: Path, bases: Mapping[str, str] | None = None
) -> Staged:
    """Where `write` puts the parts under ``root``; nothing is written."""
    folder = root / "context"
    # Beside the context, never in it: no layer and no history may name the mirror.
    moved = bool(net.bundle or (mirrored_bases(context, net) if bases is None else bases))
    return Staged(
        folder,
        (root if moved else folder) / "Dockerfile",
        tuple((name, root / "secrets" / name) for name in secrets_of(context, net)),
    )


def write(
    context: BuildContext, net: Net, root: Path, bases: Mapping[str, str] | None = None
) -> Staged:
    """Write a context, its secrets and its Dockerfile under a private folder.

    Args:
        context: what to build.
        net: this network.
        root: the private folder.
        bases: reference to local name of each base; None = those that the mirror serves.

    Raises:
        InputError: the context has no Dockerfile.
        MachineError: no space.
    """
    bases = mirrored_bases(context, net) if bases is None else bases
    staged = layout(context, net, root, bases)
    for file in context.files:
        path = staged.context / file.path
        files.write(path, file.data, executable=file.executable)
    # Layers must not depend on when a context was written. No other time will do: the cache knows a
    # file by its bytes alone, and what another build copied is only ever brought down to this one.
    at = epoch(context)
    for path in sorted(staged.context.rglob("*"), reverse=True):
        os.utime(path, (at, at))
    if net.bundle:
        bundled.lay(Path(net.bundle), staged.context)
    if not staged.dockerfile.is_file():
        text = file_of(context, "Dockerfile") or b""
        for ref, name in bases.items():
            text = names.rebase(text, ref, name)
        if net.bundle:
            text = bundled.mounted(text)
        files.write(staged.dockerfile, text)
    texts = secrets_of(context, net)
    for name, path in staged.secrets:
        files.write(path, texts[name])
        path.chmod(0o600)
    return staged


def steps(context: BuildContext, net: Net, root: Path) -> tuple[Step, ...]:
    """What `write` does, as commands for a reader who has the context at ``root/context``."""
    staged = layout(context, net, root)
    listed = ", ".join(file.path for file in context.files)
    found = [
        Step(
            why="the context",
            text=f"put the rendered folder at {staged.context} (envbuild render, the same flags): "
            f"{listed}",
        )
    ]
    if bases := mirrored_bases(context, net):
        edits = [part for ref, name in bases.items() for part in ("-e", f"s|{ref}|{name}|")]
        script = shlex.join(["sed", *edits, str(staged.context / "Dockerfile")])
        target = shlex.quote(str(staged.dockerfile))
        found.append(
            Step(why="a Dockerfile whose base is local", argv=("sh", "-c", f"{script} > {target}"))
        )
    texts = secrets_of(context, net)
    for name, path in staged.secrets:
        target = shlex.quote(str(path))
        make = f"umask 077 && mkdir -p {shlex.quote(str(path.parent))} && "
        if name == "ca":
            script = f"{make}cp {shlex.quote(str(net.ca_cert))} {target}"
        else:
            text = texts[name].decode()
            if name in {"apt_auth", "pip_auth"}:
                # Nobody's log may have them; the reader knows his own.
                text = re.sub(r"(?m) login .*$", " login **** password ****", text)
            script = f"{make}printf %s {shlex.quote(text)} > {target}"
        found.append(Step(why=f"the build secret {name}", argv=("sh", "-c", script)))
    return tuple(found)


def disk_need(context: BuildContext) -> int:
    """MiB that the plan in the context says the image needs; 0 = not known."""
    data = file_of(context, "plan.json")
    return (load(Plan, data, "plan.json").size.disk_mib or 0) if data else 0


def read(folder: Path) -> BuildContext:
    """A context folder that somebody rendered, or wrote by hand, as a value.

    Raises:
        InputError: it has no Dockerfile, or a link that leads out of it.
    """
    if not (folder / "Dockerfile").is_file():
        what = f"{folder} has no Dockerfile"
        raise InputError(what, fix="give a folder that `envbuild render` wrote")
    for path in folder.rglob("*"):
        if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
            what = f"{path} is a link that leads out of the folder"
            raise InputError(what, fix="put the file itself there")
    found = tuple(
        File(
            path=path.relative_to(folder).as_posix(),
            data=path.read_bytes(),
            executable=os.access(path, os.X_OK),
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    )
    text = (folder / "Dockerfile").read_text(encoding="utf-8", errors="replace")
    named = _stages(text)
    bases = tuple(
        dict.fromkeys(
            ref
            for ref in re.findall(r"(?mi)^FROM\s+(?:--\S+\s+)*(\S+)", text)
            if "$" not in ref and ref.lower() not in {*named, "scratch"}
        )
    )
    mounts = [
        dict(p.partition("=")[::2] for p in m.split(","))
        for m in re.findall(r"--mount=(\S+)", text)
    ]
    locked, plan = _kept(folder, "envbuild.lock", Lock), _kept(folder, "plan.json", Plan)
    platform = locked.platform if locked else PLATFORMS.get(plan.arch, "") if plan else ""
    return BuildContext(
        files=found,
        platform=platform,
        base=bases[0] if bases else None,
        bases=bases,
        secrets=tuple(
            dict.fromkeys(m["id"] for m in mounts if m.get("type") == "secret" and "id" in m)
        ),
        apt_index=locked.apt_index if locked else (),
    )


def check_stage(context: BuildContext, target: str) -> None:
    """The Dockerfile has the stage; empty is its last one.

    Raises:
        InputError: it has no such stage.
    """
    found = _stages((file_of(context, "Dockerfile") or b"").decode("utf-8", "replace"))
    if target and target.lower() not in found:
        what = f"this build has no stage {target!r}"
        raise InputError(what, fix=f"--target: one of {', '.join(found)}")


def _stages(dockerfile: str) -> list[str]:
    return [name.lower() for name in re.findall(r"(?mi)^FROM\s.*\sAS\s+(\S+)", dockerfile)]


def _kept(folder: Path, name: str, kind: type[T]) -> T | None:
    path = folder / name
    return load(kind, path.read_bytes(), str(path)) if path.is_file() else None
