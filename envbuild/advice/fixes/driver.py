"""Steps that bring a driver of one branch, with the right kernel modules, to a system.

Which packages and repositories those are stands in `driver_packages.yaml` and
`repositories.yaml`; here is how each package manager is told.
"""

from collections.abc import Iterator

from envbuild.advice.fixes import modules, repository
from envbuild.advice.fixes import secure_boot as secure_boots
from envbuild.matrix.model import Branch, Matrices
from envbuild.matrix.model.reference import DriverPackage, Reference
from envbuild.values.finding import Step
from envbuild.values.host import Module, Os

LOADED = "cat /proc/driver/nvidia/version"
"""Prints the version that is loaded, and ``Open Kernel Module`` where that is its flavour."""


def steps(
    matrices: Matrices,
    reference: Reference,
    os: Os,
    branch: int,
    module: Module,
    *,
    older: bool = False,
    secure_boot: bool | None = None,
) -> tuple[Step, ...]:
    """Install a branch so that it stays: repository, what holds it, packages, keys, restart.

    Args:
        matrices: the repositories and the branches.
        reference: the packages of drivers.
        os: the system, by its id and architecture.
        branch: ``580``.
        module: flavour of the kernel modules.
        older: a newer branch is installed, which package managers keep by themselves.
        secure_boot: the firmware takes signed code alone; None = nobody looked.
    """
    row = package(reference, os, branch, module)
    if row is None or row.manager == "own":
        return _own(row, branch, module)
    if row.manager == "run" and not _released(matrices, branch):
        return _own(None, branch, module)
    return (
        *_source(matrices, row, os),
        *_needs(row),
        *pin(reference, os, branch, module),
        *(_back(row, branch) if older else ()),
        *_install(matrices, row, os, branch, module),
        *(secure_boots.before_start(os, secure_boot) if row.manager != "zypper" else ()),
        Step(
            why="the new kernel modules are loaded at the next start",
            argv=("sudo", "systemctl", "reboot"),
            check=loaded(f"{branch} or newer" if row.manager == "pacman" else str(branch), module),
        ),
    )


def _own(row: DriverPackage | None, branch: int, module: Module) -> tuple[Step, ...]:
    """In words, where the system has a way of its own or these matrices know none."""
    why, version = "no row is about the driver packages of this system", str(branch)
    text = (
        f"install R{branch} with its {module} kernel modules as your system documents it, and "
        "hold that branch"
    )
    if row is not None:
        why = "this system has a way of its own, and the vendor's installer does not fit it"
        # Where the words name no branch, the system chooses it.
        version = version if "{branch}" in row.says else "a version"
        text = row.says.replace("{module}", "true" if module == "open" else "false")
        text = text.replace("{branch}", str(branch))
    return (Step(why=why, text=text, check=f"after a restart, {loaded(version, module)}"),)


def pin(reference: Reference, os: Os, branch: int, module: Module) -> tuple[Step, ...]:
    """Hold the branch, before anything is installed: without it the next update goes on.

    Nothing where the name of the package or its archive holds the branch already.
    """
    row = package(reference, os, branch, module)
    if row is None:
        return ()
    stream = row.stream_open if module == "open" else row.stream_proprietary
    if stream is not None:
        name = stream.format(branch=branch)
        return (
            _root(
                "another stream of the driver, if one is on, gives way",
                "dnf module list --enabled nvidia-driver: nothing",
                *("dnf", "module", "reset", "-y", "nvidia-driver"),
            ),
            _root(
                f"hold R{branch} with its {module} kernel modules",
                f"dnf module list --enabled nvidia-driver: {name}, also after dnf upgrade",
                *("dnf", "module", "enable", "-y", f"nvidia-driver:{name}"),
            ),
        )
    if row.pin is None:
        return ()
    held = row.pin.format(branch=branch)
    if row.manager == "apt":
        check = f"apt-cache policy nvidia-open cuda-drivers: every candidate is a {branch}"
        return (_root(f"hold R{branch}", check, "apt-get", "install", "-y", held),)
    return (
        _root(
            "let dnf hold versions",
            "dnf versionlock list: no error",
            *("dnf", "install", "-y", "dnf-command(versionlock)"),
        ),
        _root(
            f"hold R{branch}",
            f"dnf versionlock list: {branch}; dnf list nvidia-open: no newer one",
            *("dnf", "versionlock", "add", held),
        ),
    )


def loaded(version: str, module: Module) -> str:
    """The check that this driver with these modules is what runs."""
    words = "with the words" if module == "open" else "without the words"
    return f"{LOADED}: {version}, {words} Open Kernel Module; nvidia-smi: the card"


def owner(wish: str) -> Step:
    """What cannot be done from inside a container, said to who can."""
    return Step(
        why="this is a container: its driver and kernel belong to the machine around it, and "
        "nothing that is installed in here changes them",
        text=f"ask who runs the machine for {wish}, or take another one (in a cluster: another "
        "node); where it is yours, do it there",
        check="nvidia-smi, in a new container: the card",
    )


def version() -> Step:
    """Which driver runs."""
    return Step(
        why="which driver it is",
        argv=("cat", "/proc/driver/nvidia/version"),
        check="give what it names: envbuild plan --driver VERSION",
    )


def of_maker(says: str) -> Step:
    """The system of the machine's maker brings the driver; packages are for another system."""
    return Step(
        why=says,
        text="where cat /etc/dgx-release names it: take all updates in the DGX Dashboard, or sudo "
        "apt-get update && sudo apt-get full-upgrade, restart, and leave out the steps below",
        check="nvidia-smi: the card",
    )


def of_windows(least: str | None) -> Step:
    """WSL has one driver, that of Windows."""
    newest = f"driver {least} or newer" if least is not None else "the newest driver"
    return Step(
        why="the Windows driver is the only driver: none is installed inside WSL",
        text=f"on Windows, install {newest} for this card, then `wsl --shutdown` in PowerShell",
        check="/usr/lib/wsl/lib/nvidia-smi: the card",
    )


def of_l4t(l4t: str | None) -> Step:
    """A Jetson's driver is part of its L4T."""
    return Step(
        why="the driver of a Jetson is part of its L4T: no package of a server replaces it",
        text=f"install {f'L4T {l4t}' if l4t else 'L4T'} with its JetPack",
        check="cat /etc/nv_tegra_release: the release",
    )


def flavour(reference: Reference, os: Os, branch: Branch, needs: str) -> Module:
    """The kernel modules to install, where the cards need ``open``, ``proprietary`` or either.

    The open ones are the vendor's choice for cards that take both; a system may lack them.
    """
    if needs != "either":
        return "open" if needs == "open" else "proprietary"
    both: tuple[Module, ...] = ("open", "proprietary")
    there = [module for module in both if module in branch.modules]
    for module in there:
        row = package(reference, os, branch.branch, module)
        if row is not None and row.manager not in {"run", "own"}:
            return module
    return there[0]


def package(reference: Reference, os: Os, branch: int, module: Module) -> DriverPackage | None:
    """The first row that has this branch with these modules for the system."""
    for row in reference.driver_packages:
        inside = (row.branch_min or 0) <= branch <= (row.branch_max or branch)
        here = any((os.id or "").startswith(start) for start in row.systems)
        there = row.manager in {"run", "own"} or bool(_packages(row, module))
        if inside and here and there and (os.arch or "x86_64") in row.arches:
            return row
    return None


def _packages(row: DriverPackage, module: Module) -> str:
    return (row.open if module == "open" else row.proprietary) or ""


def _source(matrices: Matrices, row: DriverPackage, os: Os) -> Iterator[Step]:
    """Where the packages lie."""
    if row.manager == "apt" and row.origin == "vendor":
        for one in matrices.repositories:
            if one.kind == "apt" and not one.platform and os.id in one.oses:
                yield from repository.apt(one, os.arch)
    elif row.url is not None and row.manager != "run":
        release = "".join(c for c in os.id or "" if c.isdigit())
        url = row.url.format(arch=repository.folder(os.arch), release=release)
        if row.manager == "zypper":
            yield from repository.zypper(url)
        else:
            yield repository.dnf(url, new=row.manager == "dnf5")


def _needs(row: DriverPackage) -> Iterator[Step]:
    """What the kernel modules are built with."""
    if row.beside:
        text = f"turn on {row.beside} as your system documents it"
        yield Step(
            why="dkms, which builds the modules, lies there", text=text, check="dnf info dkms"
        )
    if row.needs:
        command = {"apt": "apt-get install -y", "pacman": "pacman -S --needed --noconfirm"}
        install = command.get("pacman" if row.manager == "aur" else row.manager, "dnf install -y")
        yield _root(
            "the modules are built for the kernel that runs",
            "ls /lib/modules/$(uname -r)/build",
            *("sh", "-c", f"{install} {row.needs}"),
        )


def _back(row: DriverPackage, branch: int) -> Iterator[Step]:
    """Go back from a newer branch, once the older one is held."""
    why = f"what is installed is newer, and goes back to R{branch}"
    if row.manager in {"dnf", "dnf5"}:
        check = f"rpm -qa 'nvidia-driver*' 'kmod-nvidia*': {branch}, or nothing"
        sync = ("dnf", "distro-sync", "-y", "--allowerasing", "nvidia-driver*", "kmod-nvidia*")
        yield _root(why, check, *sync)
    elif row.manager == "zypper":
        check = "rpm -qa '*nvidia*kmp*': nothing"
        remove = "rpm -qa '*nvidia*kmp*' | xargs -r zypper --non-interactive remove --clean-deps"
        yield _root(why, check, "sh", "-c", remove)


def _install(
    matrices: Matrices, row: DriverPackage, os: Os, branch: int, module: Module
) -> Iterator[Step]:
    names = _packages(row, module).format(branch=branch).split()
    why = f"install R{branch} with its {module} kernel modules"
    built = f"dkms status: nvidia {branch}, installed"
    if row.manager == "apt":
        # What holds the branch asks for it in place of a newer one, too.
        back = ("--allow-downgrades",) if row.pin is not None else ()
        yield _root(why, built, "apt-get", "install", "-y", *back, *names)
    elif row.manager in {"dnf", "dnf5"}:
        yield _root(why, built, "dnf", "install", "-y", "--allowerasing", *names)
    elif row.manager == "zypper":
        agree = ("--non-interactive", "install", "--auto-agree-with-licenses")
        check = f"rpm -q {' '.join(names)}: version {branch}"
        yield _root(why, check, "zypper", *agree, *names)
    elif row.manager == "pacman":
        yield _root(why, "dkms status: nvidia, installed", "pacman", "-S", "--noconfirm", *names)
    elif row.manager == "aur":
        text = f"build and install {' and '.join(names)} from the Arch user repository"
        yield Step(why=why, text=text, check=built)
    else:
        yield from _run(matrices, row, os, branch, module)


def _released(matrices: Matrices, branch: int) -> str | None:
    """The newest release of a branch, where one is sourced."""
    return next((b.newest for b in matrices.branches if b.branch == branch), None)


def _run(
    matrices: Matrices, row: DriverPackage, os: Os, branch: int, module: Module
) -> Iterator[Step]:
    """The vendor's own installer, where no package is known."""
    known = next((b for b in matrices.branches if b.branch == branch), None)
    if known is None or known.newest is None or row.url is None:
        return
    url = row.url.format(arch=os.arch or "x86_64", version=known.newest)
    file = url.rpartition("/")[2]
    both = len(known.modules) > 1
    yield modules.installer_without_nouveau()
    yield Step(
        why="these matrices have no package of this driver for this system: the vendor's own "
        "installer",
        argv=("curl", "-fsSLO", url),
        check=f"sh {file} --check",
    )
    yield _root(
        f"install {known.newest}, which nothing updates; it needs gcc, make and kernel headers",
        f"dkms status: nvidia {branch}, installed",
        *("sh", file, "--silent", "--dkms"),
        *([f"--kernel-module-type={module}"] if both else []),
    )


def _root(why: str, check: str, *argv: str) -> Step:
    return Step(why=why, argv=("sudo", *argv), check=check)
