"""The source `image`, from a mirror that holds a stand-in for the vendor's image.

No vendor image was pulled: ``standin/Dockerfile`` says what of it is real and what is made. It
proves resolve, lock, pull, render, build and the driver checks, stage by stage as commands.
"""

import json
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuild.values.codec import dump, load, replace
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan
from tests.integration.corridor import Cli, NewCli
from tests.integration.standin import make
from tests.lock.server import Server, serve, sha

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.usefixtures("standin")]

REQUEST = ("--cuda", "12.4", "--toolkit-source", "image")
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
COMPAT = "dpkg-query -W cuda-compat-12-4 2>&1 | sed s/dpkg-query:.//; find /usr/local -name compat"


@pytest.fixture(scope="module")
def geforce(new_cli: NewCli, standin: None) -> Iterator[Cli]:
    """A Pascal GeForce: planned, locked, rendered, built and certified, a command each."""
    cli = new_cli("geforce")
    for argv in (
        ("plan", "--cc", "6.1", *REQUEST, "-o", "plan.json"),
        ("lock", "plan.json"),
        ("render", "plan.json", "-o", "context"),
        ("build", "plan.json", "--lock", "envbuild.lock", "--tag", "envbuild-test/geforce:1"),
        ("certify", "--require", "toolchain", "--junit", "junit.xml"),
    ):
        done = cli(*argv)
        assert done.returncode == 0, (argv, done.stdout, done.stderr[-4000:])
        (cli.folder / f"{argv[0]}.out").write_text(done.stdout)
    yield cli
    cli.drop()


@pytest.fixture
def built(new_cli: NewCli) -> Iterator[NewCli]:
    """Builds a plan and gives the image back afterwards."""
    made: list[Cli] = []

    def build(flags: str) -> Cli:
        cli = new_cli("variant")
        made.append(cli)
        done = cli("build", *flags.split(), *REQUEST, "--tag", "envbuild-test/variant:1")
        assert done.returncode == 0, done.stderr[-4000:]
        return cli

    yield build
    for cli in made:
        cli.drop()


def served(registry: str, path: str) -> bytes:
    """What the real registry answers, a manifest or a blob."""
    request = urllib.request.Request(f"http://{registry}{path}", headers={"Accept": MANIFEST})
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
        body: bytes = answer.read()
    return body


def tagged(name: str) -> str:
    """The path of a manifest by its tag."""
    repository, _, tag = name.partition(":")
    return f"/v2/{repository}/manifests/{tag}"


def config_of(manifest: bytes, name: str) -> str:
    """The path of the config that a manifest names."""
    return f"/v2/{name.partition(':')[0]}/blobs/{json.loads(manifest)['config']['digest']}"


def test_the_lock_holds_the_registrys_digests_under_the_canonical_names(
    geforce: Cli, registry: str
) -> None:
    lock = load(Lock, (geforce.folder / "envbuild.lock").read_bytes(), "envbuild.lock")
    assert lock.base is not None
    assert lock.runtime is not None
    assert lock.base.ref == "docker.io/nvidia/cuda:12.4.1-devel-ubuntu22.04"
    assert lock.base.digest == sha(served(registry, tagged(make.VENDOR)))
    assert lock.runtime.digest == sha(served(registry, tagged(make.SYSTEM)))
    dockerfile = (geforce.folder / "context/Dockerfile").read_text()
    assert f"FROM {lock.base.ref}@{lock.base.digest} AS toolchain" in dockerfile
    for file in geforce.folder.rglob("*"):
        assert not file.is_file() or registry.encode() not in file.read_bytes(), file


def test_the_image_is_the_base_of_that_digest_and_its_layers(geforce: Cli, registry: str) -> None:
    image = geforce.image()
    config = config_of(served(registry, tagged(make.VENDOR)), make.VENDOR)
    layers = json.loads(served(registry, config))["rootfs"]["diff_ids"]
    assert list(image.diff_ids[: len(layers)]) == layers
    assert image.env.get("CUDA_VERSION") == "12.4.1"
    assert (image.env.get("NVIDIA_REQUIRE_CUDA") or "").startswith("cuda>=12.4 brand=")
    assert registry not in dump(image).decode()


def test_no_certified_subject_bears_the_vendors_name(geforce: Cli) -> None:
    certificate = geforce.certificate()
    assert (certificate.verdict, certificate.cc) == ("pass", ("6.1",))
    assert certificate.subject.kind == "config"
    assert certificate.subject.digest == geforce.image().config
    for text in (dump(certificate).decode(), (geforce.folder / "junit.xml").read_text()):
        assert "nvidia/cuda" not in text
    said = (geforce.folder / "certify.out").read_text()
    assert "CERTIFIED toolchain, cc 6.1" in said
    assert "nvidia/cuda" not in said


def test_the_vendors_name_is_no_subject_where_only_a_mirror_says_what_it_is(
    new_cli: NewCli, registry: str
) -> None:
    cli = new_cli("named")
    digest = sha(served(registry, tagged(make.VENDOR)))
    for name in ("docker.io/nvidia/cuda", "nvidia/cuda"):
        done = cli("certify", f"{name}:{make.TAG}", "--require", "toolchain", "--cc", "6.1")
        assert done.returncode == 2, done.stdout
        assert f"{name}@{digest}" in done.stderr
    assert not (cli.folder / ".envbuild/certificate.json").exists()


def test_its_compiler_is_the_one_that_the_plan_says_and_the_os_does_not(geforce: Cli) -> None:
    plan = load(Plan, (geforce.folder / "plan.json").read_bytes(), "plan.json")
    assert plan.host_compiler is not None
    assert geforce.inside("$NVCC_CCBIN -dumpversion") == f"{plan.host_compiler.version}\n"
    assert "Debian" in geforce.inside(". /etc/os-release; echo $NAME"), "a stand-in says so"
    kernel = "__global__ void add(float *x) { x[0] += 1.0f; }"
    gencode = f"-gencode '{plan.gencode[0]}'"
    script = f"cd /tmp; echo '{kernel}' > a.cu; nvcc {gencode} -c a.cu; cuobjdump -lelf a.o"
    assert "sm_61" in geforce.inside(script)


def test_a_geforce_gets_no_compat_library_and_no_driver_at_all(geforce: Cli) -> None:
    assert geforce.inside(COMPAT) == "no packages found matching cuda-compat-12-4\n"
    look = "ldconfig -p | grep -E 'libcuda[.]|libnvidia-ml' || echo none"
    assert geforce.inside(look) == "none\n"
    assert geforce.inside("ls $CUDA_HOME/lib64/stubs") == "libcuda.so\n"


def test_a_card_of_the_forward_compatibility_list_keeps_it(built: NewCli) -> None:
    cli = built("--gpu TeslaP4")
    assert cli.inside(COMPAT) == "cuda-compat-12-4\t550.54.15-1\n/usr/local/cuda-12.4/compat\n"


def test_a_driver_below_the_tag_gets_both_halves_of_the_cure(built: NewCli) -> None:
    cli = built("--cc 6.1 --driver 545.23.08")
    assert cli.plan().outcome == "warn"
    assert cli.image().env.get("NVIDIA_DISABLE_REQUIRE") == "true"
    assert cli.inside(COMPAT) == "no packages found matching cuda-compat-12-4\n"


def test_a_compat_library_on_the_loaders_path_is_no_certificate(
    geforce: Cli, registry: str
) -> None:
    place = geforce.folder / "bad"
    place.mkdir()
    path = "/usr/local/cuda/compat"
    text = (
        f"FROM {registry}/{make.VENDOR}\nRUN echo {path} > /etc/ld.so.conf.d/bad.conf && ldconfig\n"
    )
    (place / "Dockerfile").write_text(text)
    tag = "envbuild-test/bad:1"
    subprocess.run([geforce.docker, "build", "-q", "-t", tag, str(place)], check=True)
    done = geforce("certify", tag, "--require", "toolchain", "--cc", "6.1", "-o", "bad.json")
    subprocess.run([geforce.docker, "image", "rm", tag], check=True, capture_output=True)
    assert done.returncode == 6, done.stdout + done.stderr
    assert f"{path}/libcuda.so.1" in done.stdout + (geforce.folder / "bad.json").read_text()


@pytest.fixture
def relay(registry: str) -> Iterator[tuple[Server, str]]:
    """A mirror with the stand-ins under digests that no engine here knows; and the vendor's."""
    with serve() as server:
        digest = ""
        for name in (make.SYSTEM, make.VENDOR):
            path = tagged(name)
            body = served(registry, path) + b"\n"
            digest = sha(body)
            for word in (path, f"{path.rpartition('/')[0]}/{digest}"):
                server.put(word, body, MANIFEST)
            config = config_of(body, name)
            server.put(config, served(registry, config))
        server.put("/v2/", b"{}")
        yield server, f"/v2/nvidia/cuda/manifests/{digest}"


def test_a_registry_with_other_bytes_than_the_lock_names_is_refused(
    new_cli: NewCli, relay: tuple[Server, str], registry: str
) -> None:
    server, path = relay
    cli = new_cli("lied")
    assert cli("plan", "--cc", "6.1", *REQUEST, "-o", "plan.json").returncode == 0
    assert cli("lock", "plan.json", mirror=server.host).returncode == 0
    build = ("build", "plan.json", "--lock", "envbuild.lock", "--tag", "envbuild-test/lied:1")
    server.put(path, served(registry, tagged(make.VENDOR)), MANIFEST)
    done = cli(*build, mirror=server.host)
    assert done.returncode == 7, done.stderr
    assert path.rpartition("/")[2] in done.stderr
    assert not (cli.folder / ".envbuild/image.json").exists()
    del server.answers[path]
    assert cli(*build, mirror=server.host).returncode == 4


def test_a_registry_that_does_not_answer_is_the_machines(new_cli: NewCli, tmp_path: Path) -> None:
    cli = new_cli("down")
    done = cli("lock", "--cc", "6.1", *REQUEST, mirror="127.0.0.1:9")
    assert done.returncode == 4
    assert "127.0.0.1:9" in done.stderr
    assert not (cli.folder / "envbuild.lock").exists()


def test_a_digest_of_another_day_is_a_stale_lock(geforce: Cli, new_cli: NewCli) -> None:
    cli = new_cli("stale")
    lock = load(Lock, (geforce.folder / "envbuild.lock").read_bytes(), "envbuild.lock")
    (cli.folder / "old.lock").write_bytes(dump(replace(lock, plan=sha(b"another"))))
    done = cli("build", "--cc", "6.1", *REQUEST, "--lock", "old.lock")
    assert done.returncode == 7
    assert "another plan" in done.stderr
