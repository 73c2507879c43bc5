"""Steps that add a vendor's repository to a system, its key checked before anything trusts it."""

from envbuild.matrix.model import Repository
from envbuild.values.finding import Step

_FOLDERS = {"x86_64": "x86_64", "aarch64": "sbsa"}


def folder(arch: str | None) -> str:
    """What the vendor calls an architecture in its repositories."""
    return _FOLDERS[arch or "x86_64"]


def apt(row: Repository, arch: str | None, *before: Step) -> tuple[Step, ...]:
    """Add a repository of the vendor's toolkits and drivers, `signed` as its row says.

    Args:
        row: its address, and the one key that may sign it.
        arch: of the machine; None = x86_64.
        before: what must be in place before apt reads the repository.
    """
    url = f"{row.url}{folder(arch)}/"
    return signed("nvidia-cuda", url, f"{url}{row.key_file}", row.key, *before)


def signed(name: str, url: str, key_url: str, key: str, *before: Step) -> tuple[Step, ...]:
    """Add a repository of Debian packages.

    Args:
        name: of the files that it makes: the key, and the list.
        url: its address; apt puts its architecture for ``$(ARCH)``.
        key_url: where the key is that signs it.
        key: fingerprint of that key.
        before: what must be in place before apt reads the repository.
    """
    file = f"{name}.asc"
    ring, listed = f"/etc/apt/keyrings/{file}", f"/etc/apt/sources.list.d/{name}.list"
    return (
        Step(
            why="fetch the key that signs the repository; nothing trusts it yet",
            argv=("curl", "-fsSLo", file, key_url),
            check=f"gpg --show-keys {file}: {key} and no other key",
        ),
        Step(
            why="let apt use the key, for this repository alone",
            argv=("sudo", "install", "-Dm644", file, ring),
            check=f"ls -l {ring}",
        ),
        *before,
        Step(
            why="add the repository",
            argv=written(listed, f"deb [signed-by={ring}] {url} /"),
            check=f"cat {listed}",
        ),
        update(),
    )


def update() -> Step:
    """Let apt read what its repositories have."""
    return Step(
        why="read what it has, by its signature",
        argv=("sudo", "apt-get", "update"),
        check="no error about a signature or a key",
    )


def written(path: str, *lines: str) -> tuple[str, ...]:
    """The command that writes these lines, which hold no quote, to a file of root."""
    words = " ".join(f"'{line}'" for line in lines)
    return ("sudo", "sh", "-c", f"printf '%s\\n' {words} > {path}")


def dnf(url: str, *, new: bool) -> Step:
    """Add a repository by its ``.repo`` file, which names its key; ``new`` is dnf 5."""
    add = ("addrepo", "--overwrite", f"--from-repofile={url}") if new else ("--add-repo", url)
    return Step(
        why="add the vendor's repository, whose packages are signed",
        argv=("sudo", "dnf", "config-manager", *add),
        check="dnf repolist: cuda",
    )


def zypper(url: str) -> tuple[Step, ...]:
    """Add a repository by its address, and take its key."""
    add = f"zypper repos nvidia || zypper addrepo --refresh {url} nvidia"
    return (
        Step(
            why="add the vendor's repository, whose packages are signed",
            argv=("sudo", "sh", "-c", add),
            check="zypper repos -u nvidia",
        ),
        Step(
            why="take its key",
            argv=("sudo", "zypper", "--gpg-auto-import-keys", "refresh", "nvidia"),
            check="rpm -q gpg-pubkey: one of NVIDIA",
        ),
    )
