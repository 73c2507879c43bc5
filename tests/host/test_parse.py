"""Parsers: sample texts, then anything at all: an answer that can be recorded, never an error."""

import doctest
import importlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuild.host import (
    apt,
    cdi,
    configs,
    containers,
    gpu,
    jetson,
    kernel,
    libraries,
    limits,
    look,
    mounts,
    nvml,
    packages,
    pci,
    services,
    smi,
    toolchain,
    windows,
    wsl,
)
from envbuild.host import os as system
from envbuild.host.detect import environment
from envbuild.io.proc import Completed
from envbuild.values.codec import dump_line
from envbuild.values.host import CdiSpec, Gpu, Mig

MODULES = (
    *("cdi", "configs", "containers", "gpu", "jetson", "kernel", "limits", "look", "mounts"),
    *("nvml", "os", "packages", "pci", "smi", "toolchain", "windows", "wsl"),
)


@pytest.mark.parametrize("name", MODULES)
def test_samples_beside_the_parsers(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"envbuild.host.{name}")).failed == 0


@pytest.mark.parametrize(
    ("kernel", "generation"),
    [
        ("Linux version 4.19.104-microsoft-standard (oe-user@oe-host)", 2),
        ("Linux version 6.6.87.2-microsoft-standard-WSL2+ (me@pc)", 2),
        ("Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com)", 1),
        ("Linux version 6.8.0-1031-azure (buildd@lcy02) # built for microsoft azure", None),
        ("Linux version 6.12.48+deb13-amd64 (debian-kernel@lists.debian.org)", None),
    ],
)
def test_kernels_of_wsl(kernel: str, generation: int | None) -> None:
    assert wsl.parse_kernel(kernel) == generation


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"ID": "debian", "VERSION_ID": "12"}, "debian12"),
        ({"ID": "debian", "VERSION_CODENAME": "trixie"}, "debian13"),
        ({"ID": "debian", "PRETTY_NAME": "Debian GNU/Linux duke/sid"}, "debian"),
        ({"ID": "ubuntu", "VERSION_ID": "22.04"}, "ubuntu22.04"),
        ({"ID": "linuxmint", "VERSION_ID": "22.1", "UBUNTU_CODENAME": "noble"}, "ubuntu24.04"),
        ({"ID": "pop", "VERSION_ID": "22.04", "UBUNTU_CODENAME": "jammy"}, "ubuntu22.04"),
        ({"ID": "rocky", "VERSION_ID": "8.10"}, "rockylinux8"),
        ({"ID": "rhel", "VERSION_ID": "9.6"}, "rhel9"),
        ({"ID": "almalinux", "VERSION_ID": "9.6"}, "almalinux9"),
        ({"ID": "fedora", "VERSION_ID": "43"}, "fedora43"),
        ({"ID": "opensuse-leap", "VERSION_ID": "15.6"}, "opensuse15"),
        ({"ID": "arch"}, "arch"),
        ({"ID": "evil; rm -rf", "VERSION_ID": "1"}, None),
        ({}, None),
    ],
)
def test_os_ids(fields: dict[str, str], expected: str | None) -> None:
    assert system.os_id(fields) == expected


@pytest.mark.parametrize(
    ("variant", "ostree", "expected"),
    [
        ("silverblue", True, "fedora-silverblue42"),
        ("kinoite", False, "fedora-kinoite42"),
        ("sway-atomic", False, "fedora-ostree42"),
        ("a-spin-of-somebody", True, "fedora-ostree42"),
        ("workstation", False, "fedora42"),
        ("", False, "fedora42"),
    ],
)
def test_systems_that_are_an_image(variant: str, ostree: bool, expected: str) -> None:
    fields = {"ID": "fedora", "VERSION_ID": "42", "VARIANT_ID": variant}
    assert system.os_id(fields, ostree=ostree) == expected
    assert system.is_image(expected) is (expected != "fedora42")
    assert system.os_id({"ID": "rhel", "VERSION_ID": "9.6"}, ostree=True) == "rhel-ostree9"
    assert system.os_id({"ID": "rhel", "VERSION_ID": "9.6"}) == "rhel9"


def test_os_release_quotes_and_junk() -> None:
    text = "# comment\nID='arch'\nNAME=\"Arch Linux\"\nnoequals\nBAD LINE=x\nVERSION_ID=\n"
    assert system.parse_release(text) == {"ID": "arch", "NAME": "Arch Linux", "VERSION_ID": ""}


def test_libc_text() -> None:
    text = b"x\0GNU C Library (Ubuntu GLIBC 2.39-0ubuntu8.6) stable release version 2.39.\n"
    assert system.parse_libc(text) == "2.39"
    assert system.parse_libc(b"musl libc (x86_64) Version 1.2.5") is None


def test_elf_architecture() -> None:
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00"
    assert system.elf_arch(head + b"\xb7\x00") == "aarch64"
    assert system.elf_arch(head + b"\x3e\x00") == "x86_64"
    assert system.elf_arch(b"#!/bin/sh\n" * 3) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [("12.2.0\n", "12.2.0"), ("7\n", "7"), ("gcc: error: x\n", None), ("", None)],
)
def test_gcc_version(text: str, expected: str | None) -> None:
    assert toolchain.parse_gcc(text) == expected


def test_smi_rows_with_gaps() -> None:
    text = (
        "Tesla T4, GPU-1, [N/A], 00000000:00:1E.0, 0x1EB810DE, 550.54, 7.5, [Not Supported]\n"
        "a, line, with, as, many, commas, as, a row\n"
        "Tesla T4, GPU-2, 15360, 00000000:00:1F.0, 0x1EB810DE, 550.54, [Unknown Error], Disabled\n"
    )
    one, two = smi.parse_query(text)
    assert (one.cc, one.memory_mib, one.mig) == ("7.5", None, None)
    assert (two.cc, two.memory_mib, two.mig) == (None, 15360, Mig(enabled=False))


def test_smi_says_na() -> None:
    driver = smi.parse_banner("| NVIDIA-SMI 540.4.0   Driver Version: 540.4.0  CUDA Version: N/A |")
    assert (driver.version, driver.cuda) == ("540.4.0", None)


def test_cgroup_kinds() -> None:
    assert system.parse_cgroup("0::/system.slice/docker-abc.scope\n") == "docker"
    assert system.parse_cgroup("0::/machine.slice/libpod-abc.scope\n") == "podman"
    assert system.parse_cgroup("0::/user.slice/user-1000.slice/docker.txt\n") == "docker"
    assert system.parse_cgroup("0::/\n") is None


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.yaml", "kind: [", "not a CDI specification"),
        ("a.yaml", "just text", "not a CDI specification"),
        ("a.json", "{", "not a CDI specification"),
        ("a.json", "", "empty"),
        (
            "a.yaml",
            "!!python/object/apply:os.system ['touch /tmp/never']",
            "not a CDI specification",
        ),
        ("a.json", "[" * 100_000, "not a CDI specification"),
        ("a.yaml", "x" * 2_000_000, "larger than 1 MiB"),
    ],
)
def test_cdi_broken(name: str, text: str, says: str) -> None:
    found = cdi.parse(f"/etc/cdi/{name}", text.encode())
    assert isinstance(found, str)
    assert says in found


def test_cdi_json_and_names_as_data() -> None:
    spec = {
        "cdiVersion": "0.6.0",
        "kind": "nvidia.com/gpu",
        "devices": [{"name": "a\x1b[2J"}, 3, {}],
    }
    assert cdi.parse("/etc/cdi/n.json", json.dumps(spec).encode()) == CdiSpec(
        path="/etc/cdi/n.json", version="0.6.0", devices=("nvidia.com/gpu=a[2J",)
    )


def access(info: Mapping[str, object], **environ: str) -> tuple[str, ...]:
    empty = look.Look(Path("/nonexistent"), environ, "Linux", look.run_nothing)
    spec = CdiSpec(path="/etc/cdi/n.yaml", version="0.5.0", devices=("nvidia.com/gpu=all",))
    return containers.docker_access(empty, info, (spec,))


def test_docker_access_modes() -> None:
    assert access({}) == ()
    assert access({"Runtimes": {"runc": {}, "nvidia": {}}}) == ("gpus", "nvidia-runtime")
    # Engines from 25 on: folders are read, found devices not listed; 28.2 and later list them.
    folders = {"CDISpecDirs": ["/etc/cdi"]}
    assert access(folders) == ("cdi",)
    other = [{"Source": "cdi", "ID": "docker.com/gpu=webgpu"}]
    assert access({**folders, "DiscoveredDevices": other}) == ()
    assert access({"CDISpecDirs": ["/var/run/cdi"]}) == ()
    seen = [{"Source": "cdi", "ID": "nvidia.com/gpu=0"}]
    assert access({"DiscoveredDevices": seen}) == ("cdi",)
    # Another machine's engine does not read our folders.
    assert access(folders, DOCKER_HOST="tcp://192.0.2.4:2376") == ()
    assert access(folders, DOCKER_HOST="unix:///run/d.sock") == ("cdi",)
    # Docker Desktop passes a GPU on from WSL only (docker/desktop-linux#213).
    desktop = {"OperatingSystem": "Docker Desktop", "KernelVersion": "6.10.14-linuxkit"}
    assert access({**folders, **desktop}) == ()


@pytest.mark.parametrize("value", [None, 3, "x", [], {}, [3], {"nvidia": 1}, [{"ID": 4}]])
def test_docker_info_of_any_shape(value: object) -> None:
    keys = ("Runtimes", "CDISpecDirs", "DiscoveredDevices", "SecurityOptions", "OperatingSystem")
    for key in keys:
        assert isinstance(access({key: value}), tuple)
        assert isinstance(containers.parse_rootless({key: value}), bool)


def test_environment_takes_what_matters_only() -> None:
    taken = environment(
        {"NVIDIA_API_KEY": "k", "CUDA_AUTH_TOKEN": "t", "CUDA_CACHE_PATH": "/c", "HOME": "/h",
         "LD_LIBRARY_PATH": "/x\x07", "XCUDA_Y": "1", "CUDAHOSTCXX": "/opt/gcc/bin/g++"}
    )  # fmt: skip
    assert dict(taken) == {
        "CUDAHOSTCXX": "/opt/gcc/bin/g++",
        "CUDA_CACHE_PATH": "/c",
        "LD_LIBRARY_PATH": "/x",
    }


def said(out: str) -> Completed:
    return Completed(("wsl.exe",), 0, out, "", False, 0.0)


def lone(path: str) -> Callable[[bytes], object]:
    return lambda data: cdi.parse(path, data)


TEXT_PARSERS: tuple[Callable[[str], object], ...] = (
    smi.parse_query,
    smi.parse_banner,
    lambda text: smi.with_instances((Gpu(uuid="GPU-1", mig=Mig(enabled=True)),), text),
    gpu.parse_nvrm,
    nvml.parse,
    pci.parse_hex,
    pci.normal,
    jetson.parse_release,
    wsl.parse_kernel,
    system.parse_release,
    lambda text: system.os_id(system.parse_release(text)),
    system.parse_cgroup,
    system.arch,
    toolchain.parse_gcc,
    toolchain.parse_clang,
    toolchain.parse_nvcc,
    toolchain.parse_version_json,
    containers.parse_info,
    look.clean,
    look.version_in,
    lambda text: smi.with_details((Gpu(),), f"GPU 00000000:01:00.0\n{text}"),
    lambda text: apt.parse_sources("/etc/apt/a.list", text),
    lambda text: apt.parse_sources("/etc/apt/a.sources", text),
    lambda text: apt.parse_preferences("/etc/apt/preferences", text),
    configs.parse_modprobe,
    configs.parse_cmdline,
    configs.parse_params,
    configs.parse_json,
    configs.parse_ini,
    kernel.parse_choice,
    kernel.parse_log,
    kernel.parse_majors,
    kernel.parse_modinfo,
    limits.parse_limits,
    limits.parse_meminfo,
    lambda text: limits.parse_shm(text, 100),
    mounts.parse_mounts,
    packages.parse_rpm,
    lambda text: packages.parse_pacman(tuple(text.split())),
    services.parse_units,
    windows.parse_registry,
    windows.parse_bus,
    lambda text: windows.name(windows.parse_registry(text)),
    lambda text: windows.build(windows.parse_registry(text)),
    lambda text: windows.parse_versions(said(text)),
    lambda text: windows.parse_distros(said(text)),
)
BYTE_PARSERS = (
    system.parse_libc,
    system.elf_arch,
    lone("/a.yaml"),
    lone("/a.json"),
    packages.parse_dpkg,
    libraries.parse_cache,
    lambda data: libraries.parse_cache(b"glibc-ld.so.cache1.1" + data),
)
HINTS = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  ", "# R36 (release), REVISION: ",
    "Driver Version: ", "CUDA UMD Version: ", "ID=", 'VERSION_ID="', "(UUID: GPU-", "(UUID: MIG-",
    "Cuda compilation tools, release 13.0, V", "clang version ", '{"cuda": {"version": "',
    "0:x:/docker", "Package: nvidia-driver-580\n", "Status: hold ok installed\n", "\n\n", "deb ",
    "[signed-by=/a] ", "https://a:b@nvidia.example/ ", "Types: deb\nURIs: ", "Pin-Priority: ",
    "options nvidia ", "[nvidia-container-cli]\n", "no-cgroups = ", '"', "filename: ", "version: ",
    "license: ", "NVRM: Xid (PCI", "195 nvidia\n", "MemTotal: 1 kB\n", " /dev/shm tmpfs size=",
    "    Compute Mode : ", "    Fabric\n        State : ", "REG_DWORD    0x", "    ProductName    ",
)  # fmt: skip


def can_be_recorded(answer: object) -> bool:
    """Whether a host's JSON can hold it and gives it back."""
    text = dump_line(answer)
    return msgspec.json.encode(msgspec.json.decode(text)) == text


@given(st.text() | st.lists(st.sampled_from(HINTS) | st.text(max_size=20)).map("".join))
def test_text_parsers_never_raise(text: str) -> None:
    for parser in TEXT_PARSERS:
        assert can_be_recorded(parser(text))


@given(st.binary(max_size=400))
def test_byte_parsers_never_raise(data: bytes) -> None:
    for parser in BYTE_PARSERS:
        assert can_be_recorded(parser(data))
    for text_parser in TEXT_PARSERS:
        assert can_be_recorded(text_parser(data.decode("utf-8", "replace")))


LEAVES = st.none() | st.integers() | st.text()


@given(st.recursive(LEAVES, lambda some: st.lists(some) | st.dictionaries(st.text(), some)))
def test_json_of_any_shape(value: object) -> None:
    text = json.dumps({"cuda": value, "kind": "a/b", "devices": value})
    for answer in (
        toolchain.parse_version_json(text),
        cdi.parse("/a.json", text.encode()),
        cdi.parse("/a.yaml", text.encode()),
        containers.parse_info(json.dumps(value)),
        nvml.parse(json.dumps(value)),
    ):
        assert can_be_recorded(answer)
