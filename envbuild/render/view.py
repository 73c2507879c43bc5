"""Every decision of a rendering, so that the templates hold loops and ifs only."""

from typing import NamedTuple

from envbuild import __version__
from envbuild.errors import InputError, NoPlanError
from envbuild.render import archive, quote
from envbuild.values.codec import digest
from envbuild.values.lock import Key, Lock, LockedBase
from envbuild.values.plan import Plan

ARCHIVES = ("apt", "redist", "conda")
SOURCES = ("image", "wheels", "distro", *ARCHIVES)
PLATFORMS = {"x86_64": "linux/amd64", "aarch64": "linux/arm64"}
VENV = "/opt/envbuild"
DUMMY = "envbuild-no-driver"
_PREFIX = "/usr/local/cuda"
_VISIBLE = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}


class ArchiveView(NamedTuple):
    """What is fetched from a toolkit's own archive, and how.

    Attributes:
        kind: ``apt``, ``redist`` or ``conda``.
        host, path: the archive's address in two: a mirror replaces the first.
        prefix: folder of the toolkit.
        key: file, fingerprint and sha256 of what signs a repository, else None;
            ``keyring`` is where apt finds it.
        preferences: what keeps packages out of apt's hands.
    """

    kind: str
    host: str
    path: str
    prefix: str
    key: Key | None
    keyring: str
    preferences: tuple[str, ...]


class View(NamedTuple):
    """What the templates print.

    Attributes:
        base, runtime: images of the two stages; runtime None = there is none to start from.
        apt: packages are installed; ``dummy`` the control file of the placeholder package.
        static_of: package whose big static libraries are removed.
        archive: the toolkit is fetched from an archive of its own.
        wheels: Python packages are installed in ``venv``; ``prefix`` the toolkit among them.
        cudart: folder of the CUDA runtime library that the runtime stage takes.
        torch, torch_cuda: what the image must report.
    """

    tool: str
    title: str
    name: str
    base: str
    runtime: str | None
    locked: bool
    apt: bool
    components: tuple[str, ...]
    add_components: str
    dummy: tuple[str, ...]
    static_of: str | None
    purge_compat: bool
    archive: ArchiveView | None
    wheels: bool
    venv: str
    prefix: str | None
    path: str
    env: tuple[tuple[str, str], ...]
    runtime_env: tuple[tuple[str, str], ...]
    cudart: str | None
    torch: str | None
    torch_cuda: str
    labels: tuple[tuple[str, str], ...]
    runtime_labels: tuple[tuple[str, str], ...]
    run_args: tuple[str, ...]
    files: tuple[str, ...]
    secrets: tuple[str, ...]


def view(plan: Plan, lock: Lock | None) -> View:
    """All that the templates need.

    Raises:
        NoPlanError: the plan is refused, for a host, or of a source that is not rendered.
        InputError: a text in the plan that no plan of ours holds.
    """
    ref = supported(plan)
    layout = plan.layout
    wheels = bool(plan.packages)
    apt = bool(plan.apt)
    distro = plan.toolkit_source == "distro"
    base = lock.base if lock else None
    own_runtime = plan.image.runtime_ref or (None if plan.toolkit_source == "image" else ref)
    env = dict(_VISIBLE)
    own = bool(layout.prefix or layout.archive)
    if own:
        # A plain `g++ -lcudart` links, as it does in the vendor's images.
        env["LIBRARY_PATH"] = f"{_PREFIX}/lib64"
    env |= {quote.variable(name): text for name, text in plan.env}
    for word in (*plan.run.docker, *plan.run.podman):
        quote.gpu_flag(word)
    torch = plan.torch.version.partition("+")[0] if plan.torch else None
    return View(
        tool=__version__,
        title=title(plan),
        name=image_name(plan),
        base=_pinned(ref, base),
        runtime=own_runtime and _pinned(own_runtime, (lock and lock.runtime) or base),
        locked=lock is not None,
        apt=apt,
        components=layout.components,
        add_components=add_components(layout.components),
        dummy=dummy(layout.dummies),
        static_of="nvidia-cuda-dev" if distro else None,
        purge_compat=layout.purge_compat,
        archive=_archive(plan, lock),
        wheels=wheels,
        venv=VENV,
        prefix=layout.prefix and quote.folder(layout.prefix),
        path=":".join([f"{_PREFIX}/bin"] * own + [f"{VENV}/bin"] * wheels),
        env=tuple(env.items()),
        runtime_env=tuple((name, env[name]) for name in _VISIBLE),
        cudart=_cudart(plan),
        torch=torch,
        torch_cuda=".".join((plan.cuda or "").split(".")[:2]),
        labels=labels(plan, lock, ref, base),
        runtime_labels=labels(plan, lock, own_runtime or ref, (lock and lock.runtime) or base),
        run_args=plan.run.docker,
        files=lists(plan, lock),
        secrets=(
            *(["proxy"] * (apt or wheels or layout.archive is not None)),
            *(["ca"] * (apt or wheels)),
            *(["apt_sources"] * apt),
            *(["toolkit_mirror"] * (layout.archive is not None)),
            *(["apt_auth"] * (apt or layout.archive is not None)),
            *(["pip_conf", "pip_auth"] * wheels),
        ),
    )


def lists(plan: Plan, lock: Lock | None) -> tuple[str, ...]:
    """The files of a context that its build reads."""
    where = plan.layout.archive
    hashed = lock is not None and any(p.sha256 and not p.archive for p in lock.apt)
    packages = where is not None and where.kind == "apt"
    return (
        *(["apt.lock"] * bool(plan.apt)),
        *(["apt.sha256"] * hashed),
        *(["toolkit.lock"] * (where is not None)),
        *(["toolkit.sha256"] * packages),
        *(["unpack.py"] * (where is not None and not packages)),
        *(["requirements.txt"] * bool(plan.packages)),
        *(["constraints.txt"] * (bool(plan.packages) and lock is not None)),
    )


def _archive(plan: Plan, lock: Lock | None) -> ArchiveView | None:
    where = plan.layout.archive
    if where is None:
        return None
    key = lock.key if lock else None
    if lock is None or not (lock.parts if where.kind != "apt" else key):
        what = f"the toolkit source {where.kind} is built from a lock alone"
        why = "what it downloads is safe because its hashes are in the lock"
        raise InputError(what, why=why, fix="make it first: envbuild lock")
    if key:
        quote.path(key.file)
        quote.sha256(key.sha256)
        quote.fingerprint(key.fingerprint)
    host, path = archive.host_and_path(archive.address(where))
    prefix = archive.prefix(plan)
    keyring = f"/etc/apt/keyrings/{archive.KEY}"
    never = archive.preferences(where.never)
    return ArchiveView(where.kind, host, path, prefix, key, keyring, never)


def supported(plan: Plan) -> str:
    """The base image of a plan that can be locked and rendered.

    Raises:
        NoPlanError: it is refused, has no image, or its source is not rendered by this release.
    """
    if plan.outcome == "refuse":
        errors = "; ".join(f.says for f in plan.findings if f.severity == "error")
        raise NoPlanError("the plan is refused", why=errors, fix="envbuild plan --explain")
    if plan.where != "image" or plan.image.ref is None:
        raise NoPlanError(
            "the plan is for a host, not for an image",
            fix="ask for --where image",
        )
    if plan.toolkit_source not in SOURCES:
        what = f"the toolkit source {plan.toolkit_source} cannot be rendered"
        raise NoPlanError(
            what,
            why=f"this release renders {', '.join(SOURCES)}",
            fix="choose one of them with --toolkit-source",
        )
    if plan.toolkit_source in ARCHIVES and plan.layout.archive is None:
        what = f"the plan does not say where its toolkit is fetched ({plan.toolkit_source})"
        raise InputError(what, fix="use a plan that envbuild wrote")
    if plan.arch not in PLATFORMS:
        what = f"{plan.arch!r} in the plan is not an architecture"
        raise InputError(what, fix=f"one of {', '.join(PLATFORMS)}")
    return quote.ref(plan.image.ref)


def title(plan: Plan) -> str:
    """One line that names the image for people."""
    cc = ", ".join(plan.cc)
    return f"CUDA {plan.cuda or 'of the framework'}" + (f" for cc {cc}" if cc else "")


def image_name(plan: Plan) -> str:
    """The name an image of this plan gets when the user gives none: ``envbuild/cu130-cc90``."""
    cuda = "".join(quote.version(plan.cuda or "0").split(".")[:2])
    cc = "-".join(quote.version(c).replace(".", "") for c in plan.cc)
    return "envbuild/" + "-".join([f"cu{cuda}"] + [f"cc{cc}"] * bool(cc))


def add_components(components: tuple[str, ...]) -> str:
    """A sed command that turns components on in either form of sources list, keeping addresses."""
    words = " ".join(quote.component(c) for c in components)
    return (
        rf"sed -i -E -e 's/^(deb( \[[^]]*\])? [^ ]+ [^ ]+) .*$/\1 {words}/'"
        rf" -e 's/^Components:.*$/Components: {words}/'"
    )


def dummy(provides: tuple[str, ...]) -> tuple[str, ...]:
    """Control file of a package that stands for the driver libraries, which the host injects."""
    if not provides:
        return ()
    entries = [quote.provides(entry) for entry in provides]
    names = dict.fromkeys(entry.split(" ")[0] for entry in entries)
    return (
        f"Package: {DUMMY}",
        "Version: 999",
        "Architecture: all",
        "Multi-Arch: foreign",
        "Maintainer: envbuild",
        f"Provides: {', '.join(entries)}",
        f"Conflicts: {', '.join(names)}",
        "Description: driver libraries come from the host, never from the image",
    )


def labels(
    plan: Plan, lock: Lock | None, ref: str, base: LockedBase | None
) -> tuple[tuple[str, str], ...]:
    """Labels of a stage that starts from ``ref``, but for ``envbuild.stage``."""
    pairs = {
        "org.opencontainers.image.title": title(plan),
        "org.opencontainers.image.version": plan.cuda or "",
        "org.opencontainers.image.base.name": ref,
        "org.opencontainers.image.base.digest": base.digest if base else "",
        "envbuild.plan": digest(plan),
        "envbuild.lock": digest(lock) if lock else "",
        "envbuild.cc": ",".join(plan.cc),
        "envbuild.promise": ",".join(plan.promise),
        "envbuild.cuda": plan.cuda or "",
    }
    return tuple((name, text) for name, text in pairs.items() if text)


def _pinned(ref: str, locked: LockedBase | None) -> str:
    return quote.ref(f"{ref}@{locked.digest}" if locked else ref)


def _cudart(plan: Plan) -> str | None:
    if plan.toolkit_source == "distro":
        return f"/usr/lib/{plan.arch}-linux-gnu"
    if plan.toolkit_source == "image" or plan.layout.prefix or plan.layout.archive:
        return f"{_PREFIX}/lib64"
    return None
