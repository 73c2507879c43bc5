"""Steps that add a vendor's repository to a system, its key checked before anything trusts it."""

from envbuild.matrix.model import Repository
from envbuild.values.finding import Step

_FETCH = "sudo apt-get update && sudo apt-get install -y ca-certificates curl gpg"
_LISTS = "/etc/apt/sources.list /etc/apt/sources.list.d"
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


def signed(
    name: str, url: str, key_url: str, key: str, *before: Step, rest: str = "/"
) -> tuple[Step, ...]:
    """Add a repository of Debian packages, trusted by one key alone.

    Args:
        name: of the files that it makes: the key, and the list.
        url: its address; apt puts its architecture for ``$(ARCH)``.
        key_url: where the key is that signs it.
        key: fingerprint of that key.
        before: what must be in place before apt reads the repository.
        rest: what follows the address: ``/``, or suite and components.
    """
    file, ring = f"{name}.asc", f"/etc/apt/keyrings/{name}.asc"
    listed = f"/etc/apt/sources.list.d/{name}.list"
    return (
        Step(
            why="what fetches and checks a key; most systems have it",
            argv=(
                "sh",
                "-c",
                f"{{ command -v curl && command -v gpg; }} >/dev/null || {{ {_FETCH}; }}",
            ),
            check="gpg --version",
        ),
        Step(
            why="fetch the key that signs the repository; nothing trusts it yet",
            argv=("curl", "-fsSLo", file, key_url),
            check=f"gpg --show-keys {file}: {key} and no other key",
        ),
        Step(
            why=f"go on only if the file holds {key} and no other key",
            argv=("sh", "-c", f'test "$({_fingerprints(file)})" = {key}'),
            check="it says nothing; where it fails, do not go on: the file is another",
        ),
        Step(
            why="let apt use the key, for this repository alone",
            argv=("sudo", "install", "-Dm644", file, ring),
            check=f"ls -l {ring}",
        ),
        *before,
        _listed(listed, url, f"deb [signed-by={ring}] {url} {rest}"),
        update(),
    )


def _listed(path: str, url: str, line: str) -> Step:
    """Add a repository, unless a list has it: two with another ``signed-by`` stop all of apt."""
    there = f"grep -qrs --include='*.list' --include='*.sources' '^[^#]*{url}' {_LISTS}"
    add = written(path, line)[-1]
    return Step(
        why="add the repository, unless a list of this system has it: apt reads nothing where two "
        "name another key for it",
        argv=("sh", "-c", f"{there} || {add}"),
        check=f"grep -rs {url} {_LISTS}: one list",
    )


def _fingerprints(file: str) -> str:
    """The command that prints the fingerprint of each key in a file, subkeys aside."""
    pick = "/^pub:/{n;s/^fpr:*\\([0-9A-F]*\\):$/\\1/p}"
    return f"gpg --show-keys --with-colons {file} | sed -n '{pick}'"


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
    return ("sh", "-c", f"printf '%s\\n' {words} | sudo tee {path} >/dev/null")


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
