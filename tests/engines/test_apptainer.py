"""Apptainer's argv and choices where no GPU is: the program is *made*, a script that answers.

Its help is as ``apptainer exec --help`` of 1.4.5 prints it, with ``--device`` added as of 1.5
(apptainer/apptainer, cmd/internal/cli/action_flags.go at 917d6657).
"""

import json
import os
from pathlib import Path

import pytest

from envbuild.attest import publish
from envbuild.engines import configs, find
from envbuild.engines.apptainer import ApptainerEngine
from envbuild.engines.base import RunSpec
from envbuild.errors import InputError, MachineError
from envbuild.host import containers, look
from envbuild.io.net import Net
from envbuild.values.codec import Pairs
from envbuild.values.host import CdiSpec
from envbuild.values.image import BuildContext
from tests import oci

MADE = """\
case "$*" in
--version) echo 'apptainer version 1.5.3';;
'exec --help') printf '      --nv     x\\n      --nvccli     x\\n      --device strings   x\\n';;
*build*--sandbox*) while [ "$1" != --sandbox ]; do shift; done; mkdir "$2";;
*) printf '%s\\n' "$@"; echo "visible=$NVIDIA_VISIBLE_DEVICES A=$APPTAINERENV_A";;
esac
"""


CONFIG = b'{"architecture": "amd64", "os": "linux", "rootfs": {"diff_ids": []}}'


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    made(folder, "apptainer", MADE)
    monkeypatch.setattr("envbuild.host.containers.docker_clis", lambda look: look.find("docker"))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    (folder / "mkdir").symlink_to("/bin/mkdir")
    monkeypatch.setenv("PATH", str(folder))
    return folder


def made(folder: Path, name: str, body: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{body}")
    (folder / name).chmod(0o755)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return oci.archive(tmp_path / "image.tar", [oci.layer(oci.entry("etc/x", b"1"))])


def ran(engine: ApptainerEngine, archive: Path, spec: RunSpec) -> list[str]:
    """The words of the command line, as the program saw them."""
    return engine.run(str(archive), spec).out.splitlines()


def test_the_gpu_comes_in_as_asked_and_nothing_else(
    path: Path, archive: Path, tmp_path: Path
) -> None:
    made(path, "nvidia-container-cli", "")
    engine = ApptainerEngine(root=tmp_path / "root")
    assert engine.probe().access == ("native", "gpus")
    argv = ("nvcc", "--version")
    spec = RunSpec(argv=argv, access="native", devices=("GPU-1", "GPU-2"), env=Pairs({"A": "b,c"}))
    words = ran(engine, archive, spec)
    assert words[:3] == ["--quiet", "exec", *(["--no-privs"] if not os.geteuid() else [])][:3]
    assert words[words.index("--nv") :][:3] == [
        "--nv", "--env", "CUDA_VISIBLE_DEVICES=GPU-1,GPU-2",
    ]  # fmt: skip
    assert words[-1] == "visible=GPU-1,GPU-2 A=b,c"
    assert words[-3:-1] == ["nvcc", "--version"]
    assert "--nvccli" in ran(engine, archive, RunSpec(argv=argv, access="gpus"))
    words = ran(engine, archive, RunSpec(argv=argv))
    assert "--nv" not in words
    assert "--no-nv" in words
    assert words[words.index("--network") + 1] == "none"
    assert "--net" not in ran(engine, archive, RunSpec(argv=argv, network=""))
    with pytest.raises(MachineError, match="no GPU access mode 'cdi' here"):
        ran(engine, archive, RunSpec(argv=argv, access="cdi"))


def test_a_cdi_name_needs_the_flag_and_a_specification(path: Path) -> None:
    spec = CdiSpec(path="/etc/cdi/made.json", devices=("nvidia.com/gpu=all",))
    here = look.here()
    cli = str(path / "apptainer")
    assert containers.apptainer(here, cli, (spec,)).access == ("native", "cdi")
    assert containers.apptainer(here, cli, ()).access == ("native",)
    # 1.4.5 has no such flag.
    made(path, "apptainer", MADE.replace("      --device strings   x\\n", ""))
    assert containers.apptainer(here, cli, (spec,)).access == ("native",)


def test_it_is_taken_where_nothing_else_answers_and_never_to_build(
    path: Path, archive: Path
) -> None:
    del path
    found = find.find()
    assert (found.engine.name, found.facts.version) == ("apptainer", "1.5.3")
    found = find.find(need_build=True)
    assert found.engine.name == "local"
    assert "apptainer: it builds no Dockerfile" in found.why
    assert find.holding(str(archive)).engine.name == "apptainer"
    engine = ApptainerEngine()
    context = BuildContext(files=(), platform="linux/amd64")
    with pytest.raises(MachineError, match="builds no Dockerfile"):
        engine.build(context, "a:1", Net())
    with pytest.raises(MachineError, match="builds no Dockerfile"):
        engine.build_steps(context, "a:1", Net())
    with pytest.raises(InputError, match="pushes no OCI images"):
        engine.push("a:1", "b:1", Net())


def test_an_archive_beside_us_is_no_name_of_docker(
    path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(path, "podman", "echo 'podman version 4.3.1'\n")
    monkeypatch.chdir(archive.parent)
    assert find.holding("image.tar").why == "apptainer 1.5.3 (it runs archives)"
    assert find.holding("image.tar", "podman").engine.name == "podman"


@pytest.mark.parametrize("data", [b"", b"[]", b'{"os": "linux"}', b'{"config": 1}', b"\xff"])
def test_a_config_that_is_none_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="config that is not OCI's"):
        configs.image_of("x.tar", "sha256:0", data)


def test_an_image_is_what_its_config_says() -> None:
    config = {"Env": ["A=b=c"], "Labels": {"l": "m"}, "User": "1000"}
    root = {"type": "layers", "diff_ids": ["sha256:1"]}
    said = {"architecture": "arm64", "os": "linux", "config": config, "rootfs": root}
    image = configs.image_of("x", "sha256:0", json.dumps(said).encode())
    assert (image.platform, image.user, image.diff_ids) == ("linux/arm64", "1000", ("sha256:1",))
    assert (dict(image.env), dict(image.labels)) == ({"A": "b=c"}, {"l": "m"})
    bare = json.dumps({**said, "config": {"Env": None, "Labels": None}}).encode()
    assert configs.image_of("x", "sha256:0", bare).env == Pairs()


def test_nothing_is_attached_to_a_file(archive: Path) -> None:
    """And no registry is asked for an image of its name."""
    image = configs.image_of(str(archive), "sha256:0", CONFIG)
    with pytest.raises(InputError, match="is a file"):
        publish.in_registry(image, Net())
