"""The private prefix: fetched once, checked, whole or not there, noticed when changed."""

import os
import signal
import subprocess
import sys
import time
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from envbuild.engines import prefix, wheels
from envbuild.engines.local import LocalEngine
from envbuild.errors import InputError, MachineError, StaleError
from envbuild.io.net import Net
from envbuild.values.codec import Pairs, replace
from envbuild.values.image import BuildContext, Image
from envbuild.values.plan import Size
from tests.engines import wheelhouse
from tests.engines.wheelhouse import Index, Made, serving, toolkit_wheels

MADE = toolkit_wheels()


def build(root: Path, index: Index, context: BuildContext | None = None) -> Image:
    engine = LocalEngine(root, progress=lambda _: None)
    return engine.build(context or wheelhouse.context(MADE), "", Net(index_url=index.url))


def leftovers(root: Path) -> list[str]:
    return [p.name for p in root.rglob(".*")]


def test_a_prefix_holds_what_the_wheels_hold_and_the_links_that_linkers_need(
    tmp_path: Path,
) -> None:
    with serving(MADE) as index:
        image = build(tmp_path, index)
    cuda = Path(image.ref, "cuda")
    assert (cuda / "lib64" / "libcudart.so").read_bytes() == b"library"
    assert os.access(cuda / "bin" / "nvcc", os.X_OK)
    assert not os.access(cuda / "include" / "crt" / "host_config.h", os.X_OK)
    assert image.labels.get("envbuild.promise") == "90"
    assert image.labels.get("envbuild.compiler") == "nvcc"
    assert image.env.get("CUDA_HOME") == str(cuda)
    assert image.manifest is None
    assert leftovers(tmp_path) == []


def test_a_second_build_fetches_nothing_and_gives_the_same_image(tmp_path: Path) -> None:
    with serving(MADE) as index:
        first = build(tmp_path, index)
        before = list(index.fetched)
        made = Path(first.ref).stat().st_mtime_ns
        assert build(tmp_path, index) == first
        assert index.fetched == before
    assert Path(first.ref).stat().st_mtime_ns == made


def test_equal_wheels_give_an_equal_hash_elsewhere(tmp_path: Path) -> None:
    with serving(MADE) as index:
        one, two = build(tmp_path / "a", index), build(tmp_path / "b", index)
    assert one.config == two.config
    assert one.ref != two.ref


def test_a_changed_file_is_noticed_and_named_and_build_makes_it_again(tmp_path: Path) -> None:
    with serving(MADE) as index:
        image = build(tmp_path, index)
        engine = LocalEngine(tmp_path)
        assert engine.inspect(image.ref) == image
        Path(image.ref, "cuda/lib/libcudart.so.13").write_bytes(b"another")
        with pytest.raises(StaleError, match=r"lib/libcudart\.so\.13") as caught:
            engine.inspect(image.ref)
        assert caught.value.exit_code == 7
        before = len(index.fetched)
        assert build(tmp_path, index) == image
        assert engine.inspect(image.ref) == image
        assert len(index.fetched) == before  # the wheels were still there


@pytest.mark.parametrize("change", ["removed", "added", "not executable"])
def test_every_kind_of_change_is_noticed(tmp_path: Path, change: str) -> None:
    with serving(MADE) as index:
        image = build(tmp_path, index)
    nvcc = Path(image.ref, "cuda/bin/nvcc")
    if change == "removed":
        nvcc.unlink()
    elif change == "added":
        nvcc.with_name("ptxas").symlink_to("nvcc")
    else:
        nvcc.chmod(0o644)
    with pytest.raises(StaleError):
        LocalEngine(tmp_path).inspect(image.ref)


def test_a_wheel_of_another_hash_is_refused_by_name(tmp_path: Path) -> None:
    with serving(MADE) as index:
        file = MADE[1].wheel.file
        index.files[file] = MADE[1].data + b"more"
        with pytest.raises(StaleError) as caught:
            build(tmp_path, index)
        assert file in caught.value.what
        assert caught.value.exit_code == 7
        # The good one is kept, nothing else is there.
        assert [p.name for p in (tmp_path / "wheels").iterdir()] == [MADE[0].wheel.file]
        assert list(tmp_path.glob("*.json")) == []
        assert leftovers(tmp_path) == []


def test_a_wheel_damaged_in_the_store_is_fetched_again(tmp_path: Path) -> None:
    with serving(MADE) as index:
        image = build(tmp_path, index)
        Path(tmp_path, "wheels", MADE[0].wheel.file).write_bytes(b"damaged")
        Path(image.ref, "cuda/bin/nvcc").unlink()
        assert build(tmp_path, index) == image
        assert index.fetched.count(MADE[0].wheel.file) == 2


def test_a_cut_download_is_tried_again(tmp_path: Path) -> None:
    with serving(MADE) as index:
        index.cut[MADE[0].wheel.file] = 1
        build(tmp_path, index)
        assert index.fetched.count(MADE[0].wheel.file) == 2


def test_a_download_that_is_always_cut_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    with serving(MADE) as index:
        index.cut[MADE[0].wheel.file] = 99
        with pytest.raises((StaleError, MachineError), match=MADE[0].wheel.file):
            build(tmp_path, index)
        assert index.fetched.count(MADE[0].wheel.file) >= 3
    assert leftovers(tmp_path) == []


def test_an_index_without_the_wheel_or_out_of_reach_is_the_machines_fault(tmp_path: Path) -> None:
    with serving(()) as index, pytest.raises(MachineError, match=MADE[0].wheel.file):
        build(tmp_path, index)
    with pytest.raises(MachineError, match=MADE[0].wheel.file) as caught:
        build(tmp_path, index)  # the server is gone
    assert caught.value.exit_code == 4


def test_offline_needs_the_wheels_to_be_there(tmp_path: Path) -> None:
    engine = LocalEngine(tmp_path, progress=lambda _: None)
    with pytest.raises(MachineError, match="--offline"):
        engine.build(wheelhouse.context(MADE), "", Net(offline=True))
    with serving(MADE) as index:
        image = build(tmp_path, index)
    assert engine.build(wheelhouse.context(MADE), "", Net(offline=True)) == image


def test_a_named_index_of_the_plan_is_asked_for_its_own_wheels(tmp_path: Path) -> None:
    named = replace(MADE[0].wheel, index="cu130")
    with serving(MADE) as index, serving(()) as empty:
        wheels.fetch(
            (named,), tmp_path, Net(index_url=empty.url), print, Pairs({"cu130": index.url})
        )
        assert index.fetched == [named.file]


def test_pip_settings_of_the_user_do_not_reach_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = tmp_path / "pip.conf"
    evil.write_text("[global]\nindex-url = http://127.0.0.1:9/simple\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(evil))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONSTRAINT", str(tmp_path / "missing.txt"))
    with serving(MADE) as index:
        build(tmp_path / "root", index)
        assert index.fetched


KILLED = """
import sys
from pathlib import Path
from envbuild.engines.local import LocalEngine
from envbuild.io.net import Net
from tests.engines import wheelhouse
LocalEngine(Path(sys.argv[1])).build(
    wheelhouse.context(wheelhouse.toolkit_wheels()), "", Net(index_url=sys.argv[2]))
"""


def test_killed_half_way_the_next_run_goes_on(tmp_path: Path) -> None:
    with serving(MADE) as index:
        index.stall.add(MADE[1].wheel.file)
        argv = [sys.executable, "-c", KILLED, str(tmp_path), index.url]
        with subprocess.Popen(argv, start_new_session=True, stderr=subprocess.DEVNULL) as process:
            while MADE[1].wheel.file not in index.fetched:
                assert process.poll() is None
                time.sleep(0.05)
            os.killpg(process.pid, signal.SIGKILL)
        assert any(name.startswith(".fetch-") for name in leftovers(tmp_path))
        index.stall.clear()
        image = build(tmp_path, index)
        assert index.fetched.count(MADE[0].wheel.file) == 1
    assert LocalEngine(tmp_path).inspect(image.ref) == image
    assert leftovers(tmp_path) == []


def bad_wheel(name: str, mode: int = 0o100644) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        entry = zipfile.ZipInfo(name)
        entry.external_attr = mode << 16
        archive.writestr(entry, "/etc/passwd")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("../outside", 0o100644),
        ("nvidia/../../outside", 0o100644),
        ("/outside", 0o100644),
        ("..\\outside", 0o100644),
        ("x-1.data/data/../../../outside", 0o100644),
        ("nvidia/link", 0o120777),
    ],
)
def test_a_wheel_that_leads_out_of_the_prefix_is_refused(
    tmp_path: Path, name: str, mode: int
) -> None:
    wheel = tmp_path / "bad-1-py3-none-any.whl"
    wheel.write_bytes(bad_wheel(name, mode))
    with pytest.raises(StaleError, match="bad-1"):
        wheels.unpack(wheel, tmp_path / "prefix" / "inner")
    assert not list(tmp_path.rglob("outside"))
    wheel.write_bytes(bad_wheel("nvidia/inside"))
    wheels.unpack(wheel, tmp_path / "prefix" / "inner")
    assert (tmp_path / "prefix/inner/site/nvidia/inside").is_file()


def test_what_is_no_wheel_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x-1-py3-none-any.whl"
    path.write_bytes(b"not a zip file")
    with pytest.raises(StaleError, match="no wheel"):
        wheels.unpack(path, tmp_path / "prefix")


def test_scripts_and_data_of_a_wheel_go_where_they_belong(tmp_path: Path) -> None:
    made: Made = wheelhouse.make_wheel(
        "tool",
        "1",
        {
            "tool-1.data/scripts/tool": b"#!/bin/sh\n",
            "tool-1.data/purelib/tool.py": b"",
            "tool-1.data/data/share/doc": b"",
        },
    )
    path = tmp_path / made.wheel.file
    path.write_bytes(made.data)
    wheels.unpack(path, tmp_path / "prefix")
    for name in ("bin/tool", "site/tool.py", "share/doc"):
        assert (tmp_path / "prefix" / name).is_file()


@pytest.mark.parametrize(
    "file", ["x-1-py3-none-win_amd64.whl", "x-1-cp27-cp27m-any.whl", "../x-1-py3-none-any.whl", "x"]
)
def test_a_wheel_for_another_machine_or_of_no_name_is_refused(file: str) -> None:
    good = MADE[0].wheel
    wheels.check_fit((good,))
    with pytest.raises(InputError):
        wheels.check_fit((good, replace(good, file=file)))


def test_a_wheel_of_a_lock_is_never_more_than_one_requirement() -> None:
    for change in (
        {"name": "x\n--index-url http://evil/"},
        {"version": "1 -r /etc/passwd"},
        {"name": "-e ."},
    ):
        with pytest.raises(InputError):
            wheels.check_fit((replace(MADE[0].wheel, **change),))


@pytest.mark.parametrize("name", ["a:b", "a;b", "$(id)", "it's", 'a"b', "a\nb", "a\\b"])
def test_a_folder_that_no_toolkit_works_in_is_refused_before_anything_is_fetched(
    name: str, tmp_path: Path
) -> None:
    with serving(MADE) as index, pytest.raises(MachineError, match="no toolkit can work in"):
        build(tmp_path / name, index, wheelhouse.context(MADE))
    assert index.fetched == []
    prefix.check_place(tmp_path / "a b é-_+=@,")


def test_room_is_checked_before_anything_is_fetched(tmp_path: Path) -> None:
    prefix.check_room(tmp_path, 1)
    with serving(MADE) as index, pytest.raises(MachineError, match="MiB free"):
        build(tmp_path, index, wheelhouse.context(MADE, size=Size(disk_mib=1 << 40)))
    assert index.fetched == []


def test_wheels_with_a_folder_for_each_component_are_merged(tmp_path: Path) -> None:
    for name in ("cuda_nvrtc/lib/libnvrtc.so.12", "cuda_runtime/include/crt/x.h"):
        path = tmp_path / "site/nvidia" / name
        path.parent.mkdir(parents=True)
        path.write_text(name)
    prefix.link_toolkit(tmp_path)
    assert (tmp_path / "cuda/lib64/libnvrtc.so").read_text() == "cuda_nvrtc/lib/libnvrtc.so.12"
    assert (tmp_path / "cuda/include/crt/x.h").read_text() == "cuda_runtime/include/crt/x.h"
    assert os.access(tmp_path / "bin/nvrtc", os.X_OK)
    moved = tmp_path.rename(tmp_path.with_name("moved"))
    assert (moved / "cuda/lib/libnvrtc.so").exists()
