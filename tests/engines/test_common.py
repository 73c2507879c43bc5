"""What docker and podman share: GPU flags, owners of containers, an image's digests."""

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator

import pytest

from envbuild.engines import common, failures, fetch, owner
from envbuild.errors import MachineError

HEX = "3a8a1944dde41c9615342bd7be743cd2a7f67bc16a847915d893b175a581485d"


def test_gpu_flags_of_each_access_mode() -> None:
    assert common.gpu_flags("docker", "cdi") == ("--device", "nvidia.com/gpu=all")
    assert common.gpu_flags("podman", "cdi", ("0", "1")) == (
        "--device", "nvidia.com/gpu=0", "--device", "nvidia.com/gpu=1",
        "--security-opt=label=disable",
    )  # fmt: skip
    assert common.gpu_flags("docker", "gpus") == ("--gpus", "all")
    assert common.gpu_flags("docker", "gpus", ("GPU-1", "GPU-2")) == (
        "--gpus", '"device=GPU-1,GPU-2"',
    )  # fmt: skip
    assert common.gpu_flags("docker", "nvidia-runtime") == (
        "--runtime=nvidia", "-e", "NVIDIA_VISIBLE_DEVICES=all",
    )  # fmt: skip
    assert common.gpu_flags("docker", "none") == ()


def test_a_run_without_a_gpu_says_so_and_no_other_does() -> None:
    assert common.device_flags("docker", "none") == ("-e", "NVIDIA_VISIBLE_DEVICES=void")
    assert common.device_flags("podman", "cdi") == common.gpu_flags("podman", "cdi")


def test_gpu_flags_of_apptainer_as_text() -> None:
    """What they do is not proven: no GPU was at hand. Spelled as `apptainer exec --help` has it."""
    assert common.gpu_flags("apptainer", "native") == ("--nv",)
    assert common.gpu_flags("apptainer", "native", ("GPU-1", "GPU-2")) == (
        "--nv", "--env", "CUDA_VISIBLE_DEVICES=GPU-1,GPU-2",
    )  # fmt: skip
    assert common.gpu_flags("apptainer", "gpus", ("GPU-1",)) == ("--nvccli",)
    assert common.gpu_flags("apptainer", "cdi", ("0", "1")) == (
        "--device", "nvidia.com/gpu=0,nvidia.com/gpu=1",
    )  # fmt: skip
    assert common.gpu_flags("apptainer", "none") == ()


@pytest.mark.parametrize(
    ("engine", "access"),
    [("podman", "gpus"), ("docker", "native"), ("apptainer", "nvidia-runtime")],
)
def test_an_engine_without_that_access_mode_never_runs_without_the_gpu(
    engine: str, access: str
) -> None:
    with pytest.raises(MachineError, match="no GPU access mode"):
        common.gpu_flags(engine, access)


def test_a_command_replaces_the_entrypoint() -> None:
    assert common.command("i", ()) == ("i",)
    assert common.command("i", ("sh", "-c", "x")) == ("--entrypoint", "sh", "i", "-c", "x")


# Recorded: docker 20.10 and 28.5 with runc 1.1.5; crun's text from its source, make_cmdline.
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('runc create failed: exec: "/nope": stat /nope: no such file or directory: unknown', 127),
        ('exec: "nope": executable file not found in $PATH: unknown', 127),
        ("crun: executable file `nope` not found in $PATH: No such file or directory", 127),
        ('exec: "/etc/passwd": permission denied: unknown', 126),
        ('exec: "/": is a directory: unknown', 126),
        ("CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=all", None),
        ("bind source path does not exist: /no such file", None),
    ],
)
def test_a_missing_command_is_told_apart_from_a_refusal(text: str, code: int | None) -> None:
    assert common.not_started(text) == code


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("unresolvable CDI devices nvidia.com/gpu=7", "cdi generate"),
        ('could not select device driver "" with capabilities: [[gpu]]', "Container Toolkit"),
        ("Unknown runtime specified nvidia", "nvidia-ctk runtime configure"),
        ("manifest unknown: manifest unknown", "digest"),
        ("something new", "try again"),
    ],
)
def test_a_refusal_says_what_to_do(text: str, fix: str) -> None:
    error = failures.refused("docker", text)
    assert text in error.what
    assert fix in error.fix


def test_a_container_is_abandoned_when_its_process_is_gone() -> None:
    code = "from envbuild.engines.owner import owner; print(owner())"
    token = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert owner.abandoned(token)
    assert not owner.abandoned(owner.owner())


def test_a_stranger_to_this_boot_or_namespace_is_left_alone() -> None:
    own = owner.owner()
    assert not owner.abandoned("other-boot/pid:[1]/1/1")
    assert not owner.abandoned("")
    assert not owner.abandoned(own.replace("pid:[", "pid:[9"))
    # The same process id, started at another time, is another process.
    assert owner.abandoned(own.rpartition("/")[0] + "/1")
    assert str(os.getpid()) in own


def test_the_manifest_is_known_only_where_the_engine_proves_it() -> None:
    digest = f"sha256:{HEX}"
    pulled = {"RepoDigests": [f"m/library/debian@{digest}"]}
    # A repository digest alone may be that of an index for many platforms.
    assert fetch.manifest_of(pulled) is None
    assert fetch.manifest_of(pulled | {"RepoTags": [f"envbuild.local/base:{HEX}"]}) == digest
    store = {"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest}
    assert fetch.manifest_of({"Descriptor": store}) == digest
    index = {"mediaType": "application/vnd.oci.image.index.v1+json", "digest": digest}
    assert fetch.manifest_of({"Descriptor": index}) is None


def _saved(*members: tuple[str, object]) -> Iterator[bytes]:
    """A made ``docker save`` stream, layout as docker 28.5 writes it, in small chunks."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name, value in members:
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    data = file.getvalue()
    return (data[i : i + 1000] for i in range(0, len(data), 1000))


def test_the_config_digest_is_read_from_the_saved_image() -> None:
    manifest = {"config": {"digest": "sha256:c0"}}
    layer = (f"blobs/sha256/{'1' * 64}", b"x" * 5000)
    chunks = _saved(layer, (f"blobs/sha256/{HEX}", manifest), layer)
    assert fetch.saved_config(chunks, f"sha256:{HEX}") == "sha256:c0"
    assert next(chunks, None) is not None, "read no further than needed"
    index = _saved((f"blobs/sha256/{HEX}", {"manifests": []}), layer,
                   ("manifest.json", [{"Config": "blobs/sha256/c1"}]))  # fmt: skip
    assert fetch.saved_config(index, f"sha256:{HEX}") == "sha256:c1"
    with pytest.raises(MachineError, match="holds no manifest"):
        fetch.saved_config(_saved(layer), f"sha256:{HEX}")
