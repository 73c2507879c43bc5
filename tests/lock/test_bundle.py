"""Bundles: complete, resumable, refused where a byte is another. Made registries and indexes."""

import json
from pathlib import Path

import pytest

from envbuild.cli import app
from envbuild.engines import bundled
from envbuild.errors import InputError, StaleError
from envbuild.io.net import Net
from envbuild.lock.bundle import bundle
from envbuild.values.codec import dump, load, replace
from envbuild.values.image import BuildContext
from envbuild.values.lock import Lock, LockBundle
from envbuild.values.plan import Layout
from tests.lock.server import Server, layer, publish, push, sha, wheel
from tests.render import locks, plans

PLAN = replace(plans.WHEELS, packages=("top",), layout=Layout(), python="3.11", apt=())
TOP = wheel("top", "1.0", "py3-none-any", ("native",))
NATIVE = wheel("native", "1.0", "cp311-cp311-manylinux_2_28_x86_64")
LAYER = layer({"a": b"1"})


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server) -> Path:
    """A folder with a plan of wheels, its lock, and a bundle of it."""
    push(server, "library/debian", "bookworm-slim", LAYER)
    publish(server, "/simple", TOP, NATIVE)
    monkeypatch.setenv("UV_NO_CACHE", "1")
    monkeypatch.setenv("ENVBUILD_REGISTRY_MIRROR", server.host)
    monkeypatch.setenv("ENVBUILD_INDEX_URL", f"http://{server.host}/simple")
    monkeypatch.chdir(tmp_path)
    Path("plan.json").write_bytes(dump(PLAN))
    assert app.run(["lock", "plan.json", "--bundle", "kept", "--quiet"]) == 0
    return tmp_path


def lock() -> Lock:
    return load(Lock, Path("kept/envbuild.lock").read_bytes(), "envbuild.lock")


def listed() -> dict[str, str]:
    made = load(LockBundle, Path("kept/bundle.json").read_bytes(), "bundle.json")
    return {file.path: file.sha256 for file in made.files}


def test_every_byte_is_there_by_its_hash(desk: Path, server: Server) -> None:
    found = listed()
    assert found[f"wheels/{TOP[0]}"] == sha(TOP[1])[7:]
    assert found[f"wheels/{NATIVE[0]}"] == sha(NATIVE[1])[7:]
    base = lock().base
    assert base is not None
    manifest = json.loads(Path(f"kept/base/blobs/sha256/{base.digest[7:]}").read_bytes())
    for part in (manifest["config"], *manifest["layers"]):
        assert f"base/blobs/sha256/{part['digest'][7:]}" in found
    assert Path("kept/envbuild.lock").read_bytes() == Path("envbuild.lock").read_bytes()
    bundled.check(Path("kept"), lock())
    text = b"".join(path.read_bytes() for path in Path("kept").rglob("*.json"))
    assert server.host.encode() not in text


def test_a_half_written_one_is_completed_and_nothing_comes_twice(
    desk: Path, server: Server
) -> None:
    whole = listed()
    for name in ("bundle.json", f"wheels/{NATIVE[0]}"):
        Path("kept", name).unlink()
    with pytest.raises(InputError):
        bundled.check(Path("kept"), lock())
    # The lock that is there is kept to, whatever the index has today.
    publish(server, "/simple", TOP, NATIVE, wheel("top", "2.0", "py3-none-any"))
    server.asked.clear()
    assert app.run(["lock", "plan.json", "--bundle", "kept", "--quiet"]) == 0
    assert listed() == whole
    fetched = [path.rpartition("/")[2] for path, _ in server.asked]
    assert [name for name in fetched if name.endswith(".whl")] == [NATIVE[0]]
    base = lock().base
    assert base is not None
    manifest = json.loads(Path(f"kept/base/blobs/sha256/{base.digest[7:]}").read_bytes())
    assert not {one["digest"] for one in manifest["layers"]} & set(fetched)


def test_other_bytes_are_refused_and_fetched_again(desk: Path) -> None:
    for name in (f"wheels/{TOP[0]}", "envbuild.lock", next(n for n in listed() if "blobs" in n)):
        path = Path("kept", name)
        right = path.read_bytes()
        path.write_bytes(right[:-1] + bytes([right[-1] ^ 1]))
        with pytest.raises(StaleError, match="other bytes") as caught:
            bundled.check(Path("kept"), load(Lock, Path("envbuild.lock").read_bytes(), "l"))
        assert caught.value.exit_code == 7
        assert app.run(["lock", "plan.json", "--bundle", "kept", "--quiet"]) == 0
        assert path.read_bytes() == right


def test_another_lock_and_a_missing_file_are_refused(desk: Path) -> None:
    with pytest.raises(StaleError, match="another lock"):
        bundled.check(Path("kept"), replace(lock(), tool="9.9"))
    Path(f"kept/wheels/{TOP[0]}").unlink()
    with pytest.raises(InputError, match="not whole"):
        bundled.check(Path("kept"), lock())


def test_a_manifest_cannot_name_files_elsewhere(desk: Path) -> None:
    made = load(LockBundle, Path("kept/bundle.json").read_bytes(), "bundle.json")
    (desk / "secret").write_text("x")
    out = replace(made.files[0], path="../secret")
    Path("kept/bundle.json").write_bytes(dump(replace(made, files=(out,))))
    with pytest.raises(InputError, match="not whole"):
        bundled.check(Path("kept"), lock())


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("index.json", "[]"),
        ("index.json", "{"),
        ("index.json", '{"manifests": []}'),
        ("index.json", '{"manifests": [{"digest": "sha256:../../../secret"}]}'),
        ("BASE", "{}"),
        ("BASE", '{"config": {"digest": "../../secret"}, "layers": []}'),
    ],
)
def test_a_base_that_is_no_image_is_said(desk: Path, path: str, text: str) -> None:
    """Whoever made the manifest of a bundle may have made the rest of it, too."""
    base = lock().base
    assert base is not None
    place = path if path != "BASE" else f"blobs/sha256/{base.digest[7:]}"
    Path("kept/base", place).write_text(text)
    with pytest.raises(InputError):
        bundled.image(Path("kept"), f"{base.ref}@{base.digest}", desk / "base.tar")
    assert not (desk / "base.tar").exists()


def test_what_no_bundle_can_hold_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="vendor's repository") as caught:
        bundle(plans.APT, locks.APT, Net(), None, tmp_path)
    assert "redist" in caught.value.fix
    assert app.run(["lock", "--cc", "9.0", "--check", "--bundle", "x"]) == 2


def test_steps_that_fetch_see_the_bundle_and_nothing_else() -> None:
    text = b"FROM a\nRUN --mount=type=secret,id=ca x\nRUN y\nRUN --mount=type=secret,id=z \\\n  k\n"
    mount = b"RUN --mount=type=bind,source=bundle,target=/run/bundle --mount=type=secret"
    assert bundled.mounted(text).count(mount) == 2
    context = BuildContext(files=(), platform="", secrets=("ca", "apt_sources", "pip_conf"))
    found = bundled.secrets(context)
    assert sorted(found) == ["apt_sources", "pip_conf"]
    assert b"no-index" in found["pip_conf"]
    assert found["apt_sources"].startswith(b"deb [trusted=yes] copy:/run/bundle/debs")


def test_a_folder_of_other_files_is_left_as_it_is(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("home/deep").mkdir(parents=True)
    for name in ("home/deep/.mine.part", "home/.other.part"):
        Path(name).write_text("x")
    assert app.run(["lock", "plan.json", "--bundle", "home"]) == 2
    assert "is no bundle" in capsys.readouterr().err
    assert Path("home/deep/.mine.part").exists()
    # A bundle that has something beside it is completed, and that is kept.
    Path("kept/notes").mkdir()
    Path("kept/notes/.mine.part").write_text("x")
    assert app.run(["lock", "plan.json", "--bundle", "kept", "--quiet"]) == 0
    assert Path("kept/notes/.mine.part").exists()


@pytest.mark.parametrize(
    ("flag", "value", "says"),
    [
        ("--against", "nowhere.tar", "there is no archive"),
        ("--against", ".", "there is no archive"),
        ("--output", ".", "is a folder"),
        ("--output", "", "is a folder"),
    ],
)
def test_an_archive_that_cannot_be_is_said_before_all_else(
    flag: str, value: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["build", "plan.json", "--reproduce", flag, value]) == 2
    assert says in capsys.readouterr().err
