"""Stand-ins for a vendor's archives: a repository, redist files, a conda channel, in one folder.

All made: none of the vendor's hosts was asked. As there are their forms: the fields of ``Release``
and ``Packages`` (NVIDIA/cuda-repo-management, README.md at 647a4cb4), of ``redistrib_X.Y.Z.json``
(NixOS/nixpkgs, manifests/cuda at 59dd8112) and of ``repodata.json`` with its ``.conda`` files
(conda-forge/cuda-nvcc-impl-feedstock, meta.yaml at 02329455; the layout of its build.sh). The
files in them are those of a toolkit's folder, which may be a real one.
"""

import gzip
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

RELEASE, NVCC, CUDART = "12.4.1", "12.4.131", "12.4.127"
REPOSITORY = "compute/cuda/repos/debian12/x86_64"
REDIST, CHANNEL = "compute/cuda/redist", "conda-forge"
KEY_FILE = "3bf863cc.pub"
BUILDER = "/home/conda/feedstock_root/build_artifacts/cuda_1/_h_env_placehold_placehold"
_TARGET = "targets/x86_64-linux"
_DRIVER = ("cuda", "cuda-12-4", "cuda-drivers", "libcuda1", "cuda-compat-12-4")
# bin/nvcc.profile as redist archives have it: it needs lib64 in the prefix.
_PROFILE = """TOP              = $(_HERE_)/..
NVVMIR_LIBRARY_DIR = $(TOP)/$(_NVVM_BRANCH_)/libdevice
LD_LIBRARY_PATH += $(TOP)/lib:
PATH            += $(TOP)/$(_NVVM_BRANCH_)/bin:$(_HERE_):
INCLUDES        +=  "-I$(TOP)/$(_TARGET_DIR_)/include" $(_SPACE_)
LIBRARIES       =+ $(_SPACE_) "-L$(TOP)/$(_TARGET_DIR_)/lib$(_TARGET_SIZE_)/stubs" \
"-L$(TOP)/$(_TARGET_DIR_)/lib$(_TARGET_SIZE_)"
CUDAFE_FLAGS    +=
PTXAS_FLAGS     +=
"""
# The same as conda-forge's nvcc.profile.patch makes it.
_CONDA_PROFILE = _PROFILE.replace("/..\n", "/../$(_TARGET_DIR_)\n", 1).replace(
    "$(TOP)/$(_TARGET_DIR_)/lib$(_TARGET_SIZE_)", "$(TOP)/lib"
)
_CONDA_PROFILE = _CONDA_PROFILE.replace("$(TOP)/$(_TARGET_DIR_)/include", "$(TOP)/include").replace(
    "$(TOP)/$(_NVVM_BRANCH_)/bin:$(_HERE_):",
    "$(TOP)/bin:$(TOP)/$(_NVVM_BRANCH_)/bin:$(TOP)/../../bin:$(TOP)/../../$(_NVVM_BRANCH_)/bin:",
)

Files = Mapping[str, Path | bytes | str]
"""Path in an archive to a file, to bytes, or (text) to the target of a link."""


class Signer(NamedTuple):
    """An OpenPGP key of the test's own: gpg's home, and the fingerprint."""

    home: Path
    fingerprint: str

    def public(self) -> bytes:
        """The armored public key."""
        return _gpg(self.home, "--armor", "--export", self.fingerprint)

    def sign(self, text: bytes) -> bytes:
        """The text with its signature around it."""
        return _gpg(self.home, "--clearsign", "--local-user", self.fingerprint, text=text)


def signer(home: Path) -> Signer:
    """A new key; gpg's home is made."""
    home.mkdir(mode=0o700, parents=True)
    name = ("--quick-gen-key", "stand-in <stand-in@example.org>", "rsa3072", "sign", "never")
    _gpg(home, "--passphrase", "", *name)
    listed = _gpg(home, "--with-colons", "--list-keys").decode()
    return Signer(home, next(x.split(":")[9] for x in listed.splitlines() if x[:3] == "fpr"))


def _gpg(home: Path, *argv: str, text: bytes = b"") -> bytes:
    command = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--pinentry-mode", "loopback"]
    try:
        return subprocess.run([*command, *argv], input=text, capture_output=True, check=True).stdout
    finally:
        # gpg starts an agent that would outlive the tests.
        subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "gpg-agent"], check=True)


def tiny() -> dict[str, Path | bytes | str]:
    """A toolkit that does nothing, in the layout of the vendor's packages."""
    return {
        "bin/nvcc": b"#!/bin/sh\necho stand-in\n",
        "nvvm/libdevice/libdevice.10.bc": b"device",
        f"{_TARGET}/include/cuda_runtime.h": b"// made\n",
        f"{_TARGET}/lib/libcudart.so.12.4.127": b"cudart",
        f"{_TARGET}/lib/libcudart.so.12": "libcudart.so.12.4.127",
        f"{_TARGET}/lib/libcudart.so": "libcudart.so.12",
    }


def read(tree: Path) -> dict[str, Path | bytes | str]:
    """The files of a real toolkit's folder."""
    found: dict[str, Path | bytes | str] = {}
    for path in sorted(tree.rglob("*")):
        name = path.relative_to(tree).as_posix()
        if path.is_symlink():
            found[name] = str(path.readlink())
        elif path.is_file():
            found[name] = path
    return found


def _compiler(files: Files) -> dict[str, Path | bytes | str]:
    return {n: f for n, f in files.items() if n.split("/")[0] in {"bin", "nvvm"}}


def _target(files: Files) -> dict[str, Path | bytes | str]:
    """Headers and libraries, below the folder of their target."""
    start = f"{_TARGET}/"
    return {n.removeprefix(start): f for n, f in files.items() if n.startswith(start)}


def apt(
    root: Path, files: Files, key: Signer, *, depends: str = "", fields: Mapping[str, str] = {}
) -> Path:
    """A signed repository with the toolkit and, to be kept out, packages of drivers.

    Args:
        root: the served folder.
        files: the toolkit.
        key: what signs it.
        depends: what the toolkit depends on beside its own parts.
        fields: fields of ``Release`` to add.

    Returns:
        Its folder.
    """
    folder = root / REPOSITORY
    folder.mkdir(parents=True)
    home = "usr/local/cuda-12.4"
    target = {f"{home}/{_TARGET}/{n}": f for n, f in _target(files).items()}
    shared = {n: f for n, f in target.items() if ".so" in n and "/stubs/" not in n}
    links: dict[str, Path | bytes | str] = {
        f"{home}/include": f"{_TARGET}/include",
        f"{home}/lib64": f"{_TARGET}/lib",
    }
    compiler = {f"{home}/{n}": f for n, f in _compiler(files).items()} | links
    static = {n: f for n, f in target.items() if n not in shared}
    more = f", {depends}" if depends else ""
    parts = f"cuda-nvcc-12-4 (>= {NVCC}), cuda-cudart-dev-12-4 (>= {CUDART}){more}"
    made: list[tuple[str, str, str, Files]] = [
        ("cuda-toolkit-12-4", f"{RELEASE}-1", parts, {}),
        ("cuda-nvcc-12-4", f"{NVCC}-1", "", compiler),
        ("cuda-cudart-12-4", f"{CUDART}-1", "", shared),
        ("cuda-cudart-dev-12-4", f"{CUDART}-1", f"cuda-cudart-12-4 (>= {CUDART})", static),
        *((name, "550.54.15-1", "", {}) for name in _DRIVER),
    ]
    stanzas = [_deb(folder, *package) for package in made]
    packages = "\n".join(stanzas).encode()
    (folder / "Packages").write_bytes(packages)
    (folder / "Packages.gz").write_bytes(gzip.compress(packages, mtime=0))
    (folder / KEY_FILE).write_bytes(key.public())
    release(folder, key, fields)
    return folder


def release(folder: Path, key: Signer, fields: Mapping[str, str] = {}) -> None:
    """Sign what the repository holds now."""
    lines = ["Origin: NVIDIA", "Label: NVIDIA CUDA", "Architecture: x86_64"]
    lines += ["Date: Tue, 01 Dec 2026 12:00:00 UTC", *(f"{n}: {t}" for n, t in fields.items())]
    lines += ["Acquire-By-Hash: no", "SHA256:"]
    for name in ("Packages", "Packages.gz"):
        data = (folder / name).read_bytes()
        lines.append(f" {hashlib.sha256(data).hexdigest()} {len(data):16} {name}")
    (folder / "InRelease").write_bytes(key.sign("\n".join(lines).encode() + b"\n"))


def _deb(folder: Path, name: str, version: str, depends: str, files: Files) -> str:
    """Build one package; its stanza of ``Packages``."""
    fields = [
        f"Package: {name}",
        f"Version: {version}",
        "Architecture: amd64",
        "Priority: optional",
    ]
    fields += ["Section: multiverse/devel", "Maintainer: cudatools <cudatools@nvidia.com>"]
    fields += [f"Depends: {depends}"] * bool(depends)
    work = folder / "work"
    _write(work, files)
    (work / "DEBIAN").mkdir(parents=True)
    about = "Description: stand-in\n"
    (work / "DEBIAN/control").write_text("\n".join(fields) + f"\n{about}")
    path = folder / f"{name}_{version}_amd64.deb"
    argv = ["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", str(work), str(path)]
    subprocess.run(argv, check=True, capture_output=True)
    shutil.rmtree(work)
    data = path.read_bytes()
    fields += [f"Filename: ./{path.name}", f"Size: {len(data)}"]
    fields += [f"{n}: {hashlib.new(h, data).hexdigest()}" for n, h in _SUMS]
    return "\n".join(fields) + f"\n{about}"


_SUMS = (("MD5sum", "md5"), ("SHA1", "sha1"), ("SHA256", "sha256"), ("SHA512", "sha512"))


def _write(folder: Path, files: Files) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.symlink_to(content)
            continue
        if isinstance(content, Path):
            shutil.copy(content, path)
        else:
            path.write_bytes(content)
        path.chmod(0o755 if "/bin/" in f"/{name}" else 0o644)


def redist(root: Path, files: Files) -> Path:
    """The vendor's archives of one release; their folder."""
    target = _target(files)
    compiler = _compiler(files) | {"bin/nvcc.profile": _PROFILE.encode()}
    parts: dict[str, tuple[str, Files]] = {
        "cuda_nvcc": (NVCC, compiler),
        "cuda_cudart": (CUDART, {n: f for n, f in target.items() if "nv/target" not in n}),
        "cuda_cccl": (CUDART, {"include/nv/target": b"// made\n"}),
        "cuda_nvrtc": (CUDART, {"lib/libnvrtc.so.12.4": b"made"}),
    }
    listed: dict[str, object] = {"release_date": "2024-03-18", "release_label": RELEASE}
    for name, (version, content) in parts.items():
        top = f"{name}-linux-x86_64-{version}-archive"
        inside = {f"{top}/{n}": f for n, f in content.items()} | {f"{top}/LICENSE": name.encode()}
        path = f"{name}/linux-x86_64/{top}.tar.xz"
        listed[name] = {
            "name": name,
            "license": "CUDA Toolkit",
            "license_path": f"{name}/LICENSE.txt",
            "version": version,
            "linux-x86_64": _stored(root / REDIST, path, tar(inside, "xz")),
        }
    index = root / REDIST / f"redistrib_{RELEASE}.json"
    index.write_text(json.dumps(listed, indent=4))
    return index.parent


def _stored(folder: Path, path: str, data: bytes) -> dict[str, str]:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    sums = {name: hashlib.new(name, data).hexdigest() for name in ("sha256", "md5")}
    return {"relative_path": path, **sums, "size": str(len(data))}


def tar(files: Files, mode: str = "") -> bytes:
    """A tar of these files."""
    buffer = io.BytesIO()
    options = {"preset": 0} if mode == "xz" else {}
    with tarfile.open(fileobj=buffer, mode=f"w:{mode}", **options) as packed:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                packed.addfile(member)
                continue
            data = content.read_bytes() if isinstance(content, Path) else content
            member.size, member.mode = len(data), 0o755 if "/bin/" in f"/{name}" else 0o644
            packed.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def conda(root: Path, files: Files) -> Path:
    """A conda channel with the toolkit; its folder."""
    target = {f"{_TARGET}/{n}": f for n, f in _target(files).items()}
    shared = {n: f for n, f in target.items() if ".so" in n and "/stubs/" not in n}
    compiler = _compiler(files) | {"bin/nvcc.profile": _CONDA_PROFILE.encode()}
    version = ["cuda-version >=12.4,<12.5.0a0"]
    prefixed: dict[str, Path | bytes | str] = {
        "lib/pkgconfig/cudart-12.4.pc": f"cudaroot={BUILDER}\n".encode()
    }
    rest = {n: f for n, f in target.items() if n not in shared}
    made: list[tuple[str, str, str, list[str], Files]] = [
        ("noarch", "cuda-version", "12.4", [], {}),
        ("linux-64", "cuda-nvcc-impl", NVCC, [*version, "__glibc >=2.17"], compiler),
        ("noarch", "cuda-cudart_linux-64", CUDART, version, shared),
        (
            "linux-64",
            "cuda-cudart-dev",
            CUDART,
            [*version, "cuda-cudart_linux-64", "_libgcc_mutex"],
            rest | prefixed | {f"lib/{Path(n).name}": f"../{n}" for n in shared},
        ),
        ("linux-64", "cuda-driver-dev", CUDART, version, {}),
        ("linux-64", "cuda-cccl", CUDART, version, {}),
        ("linux-64", "cuda-nvrtc-dev", CUDART, version, {}),
        ("linux-64", "cuda-nvcc-impl", "12.9.86", ["cuda-version >=12.9,<12.10.0a0"], {}),
        ("linux-64", "_libgcc_mutex", "0.1", [], {}),
    ]
    listed: dict[str, dict[str, dict[str, dict[str, object]]]] = {
        subdir: {"packages": {}, "packages.conda": {}} for subdir in ("linux-64", "noarch")
    }
    for subdir, name, number, depends, content in made:
        about = {"name": name, "version": number, "build": "0", "build_number": 0}
        entry = about | {"depends": depends, "subdir": subdir, "timestamp": 1711600000000}
        kind = "packages" if name == "_libgcc_mutex" else "packages.conda"
        stem = f"{name}-{number}-0"
        pack = conda_bz2 if kind == "packages" else conda_zip
        data = pack(stem, content, entry)
        path = root / CHANNEL / subdir / (stem + (".tar.bz2" if kind == "packages" else ".conda"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        sums = {h: hashlib.new(h, data).hexdigest() for h in ("sha256", "md5")}
        listed[subdir][kind][path.name] = entry | sums | {"size": len(data)}
    for subdir, found in listed.items():
        whole = {"info": {"subdir": subdir}, **found, "removed": [], "repodata_version": 1}
        (root / CHANNEL / subdir / "repodata.json").write_text(json.dumps(whole))
    return root / CHANNEL


def _info(files: Files, index: Mapping[str, object], mode: str = "text") -> dict[str, bytes]:
    """``info/`` of a conda package: what it is, and which files hold their builder's prefix."""
    paths = []
    for name, content in files.items():
        entry = {"_path": name, "path_type": "softlink" if isinstance(content, str) else "hardlink"}
        if isinstance(content, bytes) and BUILDER.encode() in content:
            entry |= {"prefix_placeholder": BUILDER, "file_mode": mode}
        paths.append(entry)
    return {
        "info/index.json": json.dumps(index).encode(),
        "info/paths.json": json.dumps({"paths": paths, "paths_version": 1}).encode(),
        "info/licenses/LICENSE": b"stand-in",
    }


def conda_bz2(stem: str, files: Files, index: Mapping[str, object]) -> bytes:
    """A package in the older form."""
    del stem
    return tar({**_info(files, index), **files}, "bz2")


def conda_zip(stem: str, files: Files, index: Mapping[str, object], mode: str = "text") -> bytes:
    """A package in the form of today; ``mode`` of files with a prefix: text or binary."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        packed.writestr(zipfile.ZipInfo("metadata.json"), '{"conda_pkg_format_version": 2}')
        for kind, content in (("pkg", files), ("info", _info(files, index, mode))):
            packed.writestr(zipfile.ZipInfo(f"{kind}-{stem}.tar.zst"), zstd(tar(content)))
    return buffer.getvalue()


def zstd(data: bytes) -> bytes:
    """Bytes as the program zstd packs them."""
    argv = ["zstd", "--quiet", "--stdout", "-1"]
    return subprocess.run(argv, input=data, capture_output=True, check=True).stdout


def sha256(path: Path) -> str:
    """The hash of a file, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
