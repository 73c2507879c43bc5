"""A rendered context, a built image, and what is known of an image's inside."""

from typing import Literal

from envbuild.values.codec import Pairs, Value, digest
from envbuild.values.host import Tool


class File(Value):
    """One file of a build context, path relative to its root."""

    path: str
    data: bytes
    executable: bool = False


class BuildContext(Value):
    """A directory that builds without envbuild; ``secrets`` names the mounts it can take.

    Attributes:
        base: the first of ``bases``.
        bases: every distinct image that a FROM line names, as written there.
        apt_index: ``suite component ...`` lines that a mirror must serve.
    """

    schema: Literal["envbuild/context/1"] = "envbuild/context/1"
    files: tuple[File, ...]
    platform: str
    base: str | None = None
    bases: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    apt_index: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """``sha256:...`` over paths, modes and bytes of all files."""
        return digest(self.files)


class Image(Value):
    """A built or pulled image.

    Attributes:
        ref: the reference it runs under.
        config: digest of the image config; empty for a root filesystem, which has none.
        manifest: digest of the platform manifest, None until pushed or pulled.
        platform: ``linux/amd64``.
        diff_ids: digests of the uncompressed layers, bottom first.
        labels: the image's own labels.
        env: the image's own environment.
        user: the image's own user, empty = root.
        size: bytes on disk, where the engine says so.
        builder: engine that built it, and its version; empty = not known.
    """

    schema: Literal["envbuild/image/1"] = "envbuild/image/1"
    ref: str
    config: str
    manifest: str | None = None
    platform: str
    diff_ids: tuple[str, ...] = ()
    labels: Pairs = Pairs()
    env: Pairs = Pairs()
    user: str = ""
    size: int | None = None
    builder: tuple[str, ...] = ()


class Resolved(Value):
    """What the loader of the image finds for one library name.

    Attributes:
        path: None = not found.
        version: ``13.5``, of a CUDA runtime that says so when it is loaded.
        error: what the loader says of a file that is there and does not load.
    """

    name: str
    path: str | None = None
    version: str | None = None
    error: str | None = None


class ImageFacts(Value):
    """What was seen inside an image (or a local prefix) by running in it.

    Attributes:
        os: ``id`` as the matrices spell it, glibc and arch inside.
        shell: path of a POSIX shell, None where there is none.
        compilers: nvcc and host compilers with versions.
        resolves: libcuda, libnvidia-ml, libcudart ... as the loader inside finds them.
        drivers: driver files that are baked into the image.
        framework: torch version and its CUDA, where torch is installed.
        arch_list: targets that torch was built for, as it names them (``sm_80``, ``compute_90``).
        python: version of the interpreter; ``packages`` are its distributions with versions.
        apt: Debian packages with versions.
    """

    schema: Literal["envbuild/image-facts/1"] = "envbuild/image-facts/1"
    ref: str
    platform: str | None = None
    os: str | None = None
    glibc: str | None = None
    shell: str | None = None
    compilers: tuple[Tool, ...] = ()
    toolkits: tuple[Tool, ...] = ()
    resolves: tuple[Resolved, ...] = ()
    drivers: tuple[str, ...] = ()
    framework: tuple[Tool, ...] = ()
    arch_list: tuple[str, ...] = ()
    python: str | None = None
    packages: Pairs = Pairs()
    apt: Pairs = Pairs()
    labels: Pairs = Pairs()
    env: Pairs = Pairs()
    user: str = ""
