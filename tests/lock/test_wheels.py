"""Wheels: one file each, by hash, from real resolvers and an index of made wheels."""

import shutil
from pathlib import Path

import pytest

from envbuild.errors import EnvbuildError, InputError, MachineError, NoPlanError
from envbuild.io.net import Net
from envbuild.lock import index, resolvers
from envbuild.lock.wheels import lock_wheels
from envbuild.values.codec import replace
from envbuild.values.lock import Wheel
from envbuild.values.plan import Layout, Plan, TorchChoice
from tests.lock.server import Answer, Server, publish, sha, wheel
from tests.render import plans

PLAN = replace(plans.WHEELS, packages=("top==1.0",), layout=Layout(), python="3.11")
TOP = wheel("top", "1.0", "py3-none-any", ("native>=1", "other; sys_platform == 'win32'"))
NATIVE = [
    wheel("native", "1.0", f"cp311-cp311-{platform}")
    for platform in (
        "manylinux_2_17_x86_64",
        "manylinux_2_28_x86_64",
        "manylinux_2_39_x86_64",
        "manylinux_2_28_aarch64",
        "win_amd64",
    )
]
OTHER_PYTHON = wheel("native", "1.0", "cp312-cp312-manylinux_2_28_x86_64")


@pytest.fixture(params=["uv", "pip"])
def resolver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "pip":
        monkeypatch.setattr(resolvers, "find_uv", lambda: None)
    elif not resolvers.find_uv():
        pytest.skip("uv is not here")
    return str(request.param)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def locked(server: Server, plan: Plan = PLAN) -> tuple[Wheel, ...]:
    return lock_wheels(plan, Net(index_url=f"http://{server.host}/simple"))


@pytest.mark.parametrize("html", [True, False])
def test_the_one_file_that_fits_best(server: Server, resolver: str, html: bool) -> None:
    publish(server, "/simple", TOP, *NATIVE, OTHER_PYTHON, html=html)
    best, top = locked(server)
    assert best == Wheel(
        name="native",
        version="1.0",
        file="native-1.0-cp311-cp311-manylinux_2_28_x86_64.whl",
        sha256=sha(NATIVE[1][1])[7:],
        index="pypi",
    )
    assert top.file == "top-1.0-py3-none-any.whl"


def test_another_architecture(server: Server, resolver: str) -> None:
    publish(server, "/simple", TOP, *NATIVE)
    arm = replace(PLAN, arch="aarch64")
    assert locked(server, arm)[0].file == "native-1.0-cp311-cp311-manylinux_2_28_aarch64.whl"


def test_an_older_c_library(server: Server, resolver: str) -> None:
    publish(server, "/simple", TOP, *NATIVE)
    old = replace(PLAN, image=replace(PLAN.image, glibc="2.27"))
    assert locked(server, old)[0].file == "native-1.0-cp311-cp311-manylinux_2_17_x86_64.whl"


def test_the_users_own_settings_do_not_count(
    server: Server, resolver: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(server, "/simple", TOP, *NATIVE)
    name, data = wheel("native", "9.0", "py3-none-any")
    (tmp_path / name).write_bytes(data)
    (tmp_path / "constraints.txt").write_text("native==9.0\n")
    (tmp_path / "pip.conf").write_text(f"[global]\nfind-links = {tmp_path}\n")
    (tmp_path / "uv.toml").write_text(f'find-links = ["{tmp_path}"]\n')
    for variable, value in (
        ("PIP_FIND_LINKS", str(tmp_path)),
        ("PIP_CONSTRAINT", str(tmp_path / "constraints.txt")),
        ("PIP_CONFIG_FILE", str(tmp_path / "pip.conf")),
        ("PIP_EXTRA_INDEX_URL", f"http://{server.host}/evil"),
        ("UV_FIND_LINKS", str(tmp_path)),
        ("UV_CONSTRAINT", str(tmp_path / "constraints.txt")),
        ("UV_CONFIG_FILE", str(tmp_path / "uv.toml")),
        ("UV_INDEX", f"http://{server.host}/evil"),
    ):
        monkeypatch.setenv(variable, value)
    assert locked(server)[0].version == "1.0"
    assert not any("evil" in path for path, _ in server.asked)


def test_a_framework_comes_from_its_own_index(server: Server, resolver: str) -> None:
    publish(server, "/simple", wheel("torch", "2.0", "py3-none-any"), *NATIVE)
    torch = wheel("torch", "2.0+cu126", "cp311-cp311-manylinux_2_28_x86_64", ("native",))
    publish(server, "/cu126", torch, html=True)
    plan = replace(
        PLAN,
        packages=("torch==2.0+cu126",),
        torch=TorchChoice(version="2.0", index="cu126", index_url=f"http://{server.host}/cu126"),
    )
    found = {w.name: (w.version, w.index) for w in locked(server, plan)}
    assert found == {"native": ("1.0", "pypi"), "torch": ("2.0+cu126", "cu126")}


# What a bucket answers for what it lacks: recorded in github.com/pytorch/pytorch/issues/81900.
DENIED = Answer(b"<Error><Code>AccessDenied</Code></Error>", 403, {"Content-Type": "text/xml"})
ABSENT = Answer(b"", 404)
NOTHING = Answer(b"<!DOCTYPE html><html></html>", headers={"Content-Type": "text/html"})
TORCH = wheel("torch", "2.0+cu126", "cp311-cp311-manylinux_2_28_x86_64", ("native",))
VISION = wheel("torchvision", "0.1+cu126", "cp311-cp311-manylinux_2_28_x86_64", ("torch",))


def beside(server: Server, missing: Answer, *there: tuple[str, bytes]) -> tuple[Wheel, ...]:
    """A lock of torch and torchvision; the framework's index has some wheels, and none else."""
    publish(server, "/simple", wheel("torchvision", "0.1", "py3-none-any", ("torch",)), *NATIVE)
    server.answers.update({f"/cu126/{p}/": missing for p in ("native", "torch", "torchvision")})
    publish(server, "/cu126", *there, html=True)
    plan = replace(
        PLAN,
        packages=("torch==2.0+cu126", "torchvision==0.1"),
        torch=TorchChoice(version="2.0", index="cu126", index_url=f"http://{server.host}/cu126"),
    )
    return locked(server, plan)


@pytest.mark.parametrize("missing", [DENIED, ABSENT, NOTHING])
def test_a_framework_index_without_a_dependency(
    server: Server, resolver: str, missing: Answer
) -> None:
    found = {w.name: w.index for w in beside(server, missing, TORCH, VISION)}
    assert found == {"native": "pypi", "torch": "cu126", "torchvision": "cu126"}


@pytest.mark.parametrize("missing", [DENIED, ABSENT, NOTHING])
def test_a_companion_is_never_of_another_index(
    server: Server, resolver: str, missing: Answer
) -> None:
    with pytest.raises(MachineError, match="the index cu126 has no torchvision") as error:
        beside(server, missing, TORCH)
    assert error.value.exit_code == 4
    assert "another CUDA" in error.value.why


def test_one_version_in_two_indexes(server: Server, resolver: str) -> None:
    """As torch 2.5.1 for aarch64: the default index has it for the CPU, under a better tag."""
    publish(server, "/simple", wheel("torch", "2.5", "cp311-cp311-manylinux_2_28_x86_64"))
    publish(server, "/cu124", wheel("torch", "2.5", "cp311-cp311-linux_x86_64"), html=True)
    url = f"http://{server.host}/cu124"
    torch = TorchChoice(version="2.5", index="cu124", index_url=url)
    plan = replace(PLAN, packages=("torch==2.5",), torch=torch)
    if resolver == "uv":
        (one,) = locked(server, plan)
        assert (one.index, one.file) == ("cu124", "torch-2.5-cp311-cp311-linux_x86_64.whl")
        return
    with pytest.raises(MachineError, match=r"torch 2\.5 of the default index") as e:
        locked(server, plan)
    assert "pip install uv" in e.value.fix


@pytest.mark.parametrize(
    ("missing", "says"),
    [
        (DENIED, "answered 403 for /cu126/torch/"),
        (DENIED._replace(status=401), "answered 401 for /cu126/torch/"),
        (ABSENT, "lists no torch"),
        (NOTHING, "lists no torch"),
    ],
)
def test_a_framework_index_without_the_framework(
    server: Server, resolver: str, missing: Answer, says: str
) -> None:
    with pytest.raises(MachineError, match=says) as error:
        beside(server, missing)
    assert error.value.exit_code == 4
    assert "docker" not in str(error.value)


def test_nothing_of_the_network_is_in_it(server: Server, resolver: str) -> None:
    publish(server, "/simple", TOP, *NATIVE)
    assert server.host.partition(":")[0] not in repr(locked(server))


def test_requirements_that_nothing_meets(server: Server, resolver: str) -> None:
    publish(server, "/simple", TOP)
    with pytest.raises(NoPlanError) as error:
        locked(server)
    assert "native" in str(error.value)


@pytest.mark.slow
def test_an_index_that_does_not_answer(resolver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(MachineError):
        lock_wheels(PLAN, Net(index_url="http://127.0.0.1:1/simple"))


@pytest.mark.slow
def test_a_default_index_that_is_out_of_reach_is_no_missing_plan(
    resolver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    for name in ("https_proxy", "http_proxy", "HTTPS_PROXY", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(MachineError):
        lock_wheels(PLAN, Net())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "kind"),
    # Some indexes say 403 where others say 404.
    [(401, MachineError), (403, NoPlanError), (404, NoPlanError), (503, MachineError)],
)
def test_an_index_that_refuses_one_project_is_no_missing_plan(
    server: Server,
    resolver: str,
    status: int,
    kind: type[EnvbuildError],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    publish(server, "/simple", TOP)
    server.put("/simple/native/", b"", status=status)
    with pytest.raises(kind):
        locked(server)


def test_parts_of_two_releases_are_refused(server: Server, resolver: str) -> None:
    publish(
        server,
        "/simple",
        wheel("cuda-toolkit", "13.0.2", "py3-none-any", ("nvidia-cuda-nvcc==13.0.*",)),
        wheel("nvidia-cuda-nvcc", "13.0.88", "py3-none-any", ("nvidia-nvvm",)),
        wheel("nvidia-nvvm", "13.5.37", "py3-none-any"),
    )
    plan = replace(plans.WHEELS, packages=("cuda-toolkit==13.0.2",))
    with pytest.raises(InputError, match=r"nvidia-nvvm 13\.5\.37"):
        locked(server, plan)


def test_packages_without_a_python() -> None:
    with pytest.raises(InputError, match="names no Python"):
        lock_wheels(replace(PLAN, python=None), Net())


@pytest.mark.parametrize("python", ["3", "banana", "3.999999999", "3.11\n", ""])
def test_a_python_that_is_none(python: str) -> None:
    with pytest.raises(InputError, match=r"a version like 3\.11"):
        lock_wheels(replace(PLAN, python=python), Net())


@pytest.mark.parametrize("glibc", ["2", "x", "2.x"])
def test_a_c_library_that_is_none(glibc: str) -> None:
    with pytest.raises(InputError, match=r"a version like 3\.11"):
        lock_wheels(replace(PLAN, image=replace(PLAN.image, glibc=glibc)), Net())


@pytest.mark.parametrize(
    "page",
    [
        b"",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        {},
        {"files": 3},
        {"files": [{}]},
        {"files": [{"filename": 1}]},
        {"files": [{"filename": "x", "hashes": []}]},
    ],
    ids=repr,
)
def test_an_index_may_answer_anything(server: Server, page: object) -> None:
    server.put("/simple/top/", page, "application/vnd.pypi.simple.v1+json")
    with pytest.raises(MachineError, match="not a page of a package index"):
        index.files(f"http://{server.host}/simple", "top", Net())


def test_an_index_of_garbage_has_no_files(server: Server) -> None:
    server.put("/simple/top/", b"\xff\x00<a <a href=>" * 9, "text/html")
    assert index.files(f"http://{server.host}/simple", "top", Net()) == ()


def test_offline_resolves_nothing() -> None:
    with pytest.raises(MachineError, match="--offline"):
        lock_wheels(PLAN, Net(offline=True))


def test_uv_is_found_on_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert resolvers.find_uv() == "/usr/bin/uv"


PORTAL = b"<!DOCTYPE html><html><body><form>log in</form></body></html>"


def test_a_login_page_is_no_empty_index(server: Server, resolver: str) -> None:
    server.put("/simple/top/", PORTAL, "text/html")
    with pytest.raises(MachineError, match="sent a web page for /simple/top/") as error:
        locked(server)
    assert error.value.exit_code == 4
    # The control: an index that says nothing of the project is one without a plan.
    server.put("/simple/top/", b"<!DOCTYPE html><html><body></body></html>", "text/html")
    with pytest.raises(NoPlanError):
        locked(server)
