"""What an image says of itself meets each real engine: users, folders, volumes, health checks."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from envbuild import data
from envbuild.cli.app import run as command
from envbuild.engines.base import Engine, Mount, RunSpec
from envbuild.errors import ImageError, MachineError
from envbuild.io.net import Net
from envbuild.values.image import BuildContext, File

pytestmark = pytest.mark.engine
STEPS = (data.folder("kernels") / "prebuilt" / "x86_64" / "steps").read_bytes()
BARE = "FROM scratch\nCOPY steps /steps\n"

Make = Callable[[str], str]


@pytest.fixture
def make(engine: Engine, base: str, registry: str) -> Iterator[Make]:
    """Builds an image of a Dockerfile; its name."""
    tag = "envbuild-test/starts:1"

    def build(dockerfile: str) -> str:
        text = dockerfile.format(base=base)
        context = BuildContext(
            files=(
                File(path="Dockerfile", data=text.encode()),
                File(path="steps", data=STEPS, executable=True),
            ),
            platform="linux/amd64",
            base=base if base in text else None,
            bases=(base,) if base in text else (),
        )
        return engine.build(context, tag, Net(registry_mirror=registry, network="host")).ref

    yield build
    subprocess.run([engine.name, "image", "rm", tag], check=False, capture_output=True)


FAULTS = {
    "a user of no name here": (f"{BARE}USER app\n", "no user or group .*USER"),
    "a group of no name here": ("FROM {base}\nUSER 0:nobodys\n", "no user or group .*USER"),
    "a user beyond all numbers": (f"{BARE}USER 4294967295\n", "number of its user .*USER"),
    "a volume on /proc": (f"{BARE}VOLUME /proc\n", "volumes .*VOLUME"),
    "a volume in /proc": (f"{BARE}VOLUME /proc/envbuild\n", "volumes .*VOLUME"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_image_that_no_engine_can_start_is_at_fault(
    engine: Engine, make: Make, fault: str
) -> None:
    dockerfile, says = FAULTS[fault]
    ref = make(dockerfile)
    with pytest.raises(ImageError) as found:
        engine.run(ref, RunSpec(argv=("/steps",)))
    assert ref in found.value.what
    assert found.value.why
    assert found.match(f"(?s){says}")


def test_certify_says_so(
    engine: Engine,
    make: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    ref = make(f"{BARE}USER app\n")
    argv = ["certify", ref, "--engine", engine.name, "--require", "toolchain", "--cc", "9.0"]
    assert command(argv) == 6
    shown = capfd.readouterr().err
    assert "cannot be started: it has no user" in shown
    assert "unable to find user app" in shown


def test_a_command_that_is_not_there_is_no_refusal(engine: Engine, make: Make) -> None:
    ref = make(f'{BARE}ENTRYPOINT ["/nowhere"]\nWORKDIR /new/folder\n')
    assert engine.run(ref, RunSpec(argv=("/nowhere",))).rc == 127
    assert engine.run(ref, RunSpec(argv=("/steps",))).rc == 2, "it starts and asks for a file"


def test_nothing_of_the_image_runs_beside_the_command(
    engine: Engine, make: Make, tmp_path: Path
) -> None:
    """A health check that an engine would start, an entrypoint, and triggers for others' builds."""
    ref = make(
        'FROM {base}\nENTRYPOINT ["/bin/false"]\nCMD ["no"]\nSTOPSIGNAL SIGWINCH\n'
        "ONBUILD RUN false\nVOLUME /made\n"
        "HEALTHCHECK --interval=1s CMD touch /made/health\n"
    )
    spec = RunSpec(argv=("/bin/sh", "-c", "sleep 3; ls /made; echo ran"))
    assert engine.run(ref, spec).out == "ran\n"
    listing = [engine.name, "volume", "ls", "--quiet", "--filter", "dangling=true"]
    before = subprocess.run(listing, check=True, capture_output=True).stdout.split()
    assert engine.run(ref, RunSpec(argv=("/bin/sleep", "60"), timeout=1)).timed_out
    after = subprocess.run(listing, check=True, capture_output=True).stdout.split()
    assert not set(after) - set(before)


@pytest.mark.parametrize("name", ["a b", "a,b", 'a"b', "a'b", "a:b", "a=b", "a\\b", "a$b", "ä"])
def test_a_folder_of_any_name_is_mounted(
    engine: Engine, make: Make, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "file").write_text("in it")
    ref = make("FROM {base}\n")
    for writable, code in ((False, 1), (True, 0)):
        mount = Mount(source=str(folder), target="/mounted", writable=writable)
        script = "cat /mounted/file; touch /mounted/made"
        done = engine.run(ref, RunSpec(argv=("/bin/sh", "-c", script), mounts=(mount,)))
        assert (done.out, done.rc) == ("in it", code), done.err
    assert (folder / "made").exists()


def test_podman_says_which_folder_it_cannot_mount(
    engine: Engine, make: Make, tmp_path: Path
) -> None:
    if engine.name != "podman":
        return
    mount = Mount(source=str(tmp_path / "a:b,c"), target="/mounted")
    with pytest.raises(MachineError, match="a:b,c"):
        engine.run(make(BARE), RunSpec(argv=("/steps",), mounts=(mount,)))


def test_run_tells_the_image_s_fault_from_the_command_s_code(
    engine: Engine, make: Make, capfd: pytest.CaptureFixture[str]
) -> None:
    """125, 126 and 127 are the command's own, unless nothing at all can be started."""
    argv = ["--engine", engine.name, "--access", "none"]
    ref = make("FROM {base}\nUSER app\n")
    assert command(["run", ref, *argv, "--", "true"]) == 6
    shown = capfd.readouterr().err
    assert "cannot be started: it has no user" in shown
    assert "do    add it in the Dockerfile" in shown
    ref = make("FROM {base}\n")
    for code in (0, 3, 125, 126, 127):
        assert command(["run", ref, *argv, "--", "sh", "-c", f"exit {code}"]) == code
    assert command(["run", ref, *argv, "--", "no-such-command"]) == 127
    # A client's own log line (level=error) is not a word of ours.
    said = capfd.readouterr().err.splitlines()
    assert not [line for line in said if line.startswith("error ")]
    gpu = ["--engine", engine.name, "--access", "cdi"]
    assert command(["run", ref, *gpu, "--", "true"]) == 4
