"""``envbuild matrix verify --only torch`` over a made index on this machine, fetched by real pip.

The wheel is made so that it says what the row of torch 2.15.0 says; each test spoils one thing.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from envbuild.matrix.load import load
from tests.lock.server import Server, publish, serve
from tests.matrix.vendor import made

ROW = next(row for row in load().torch if (row.torch, row.index) == ("2.15.0", "pypi"))
FIRST = "torch-2.15.0-cp311-cp311-manylinux_2_28_x86_64"
KERNELS = "torch/lib/libtorch_cuda.so"


@pytest.fixture
def server() -> Iterator[Server]:
    with serve() as running:
        yield running


def wheel(folder: Path, **members: bytes) -> bytes:
    """The bytes of a wheel as the row has it; ``kernels`` or ``version`` replace a member."""
    targets = [int(target) for target in ROW.targets]
    content = {
        KERNELS: members.get("kernels", made.code(targets) + b"\0GLIBC_2.28\0"),
        "torch/version.py": members.get("version", f"cuda = '{ROW.cuda}'\n".encode()),
    }
    pins = f"nvidia-cudnn-cu13=={ROW.cudnn}", f"triton~={ROW.triton}"
    return made.wheel(
        folder, f"{FIRST}.whl", content, requires=pins, python=ROW.python
    ).read_bytes()


def offer(server: Server, data: bytes) -> None:
    """The wheel on the index, for each interpreter that the row names."""
    tags = [f"cp{python.replace('.', '')}" for python in ROW.pythons]
    names = [f"torch-2.15.0-{tag}-{tag}-manylinux_2_28_x86_64.whl" for tag in tags]
    publish(server, "/simple", *((name, data) for name in names))


def verify(server: Server, work: Path, *more: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, the row of the x86_64 wheel, and stderr."""
    argv = [sys.executable, "-m", "envbuild", "matrix", "verify", "--only", "torch", "--json"]
    argv += ["--work", str(work), "--index-url", f"http://{server.host}/simple", *more]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    done = subprocess.run(argv, capture_output=True, text=True, env=env, check=False)
    assert "Traceback" not in done.stderr
    rows = json.loads(done.stdout)["rows"] if done.stdout else []
    assert {row["verdict"] for row in rows[1:]} <= {"not reachable"}
    return done.returncode, rows[0], done.stderr


def test_a_row_agrees_and_the_next_run_fetches_nothing(server: Server, tmp_path: Path) -> None:
    offer(server, wheel(tmp_path))
    rc, row, err = verify(server, tmp_path / "work")
    assert (rc, row["key"], row["verdict"]) == (0, "2.15.0/pypi/x86_64", "agrees")
    assert {"cuda", "targets", "cudnn", "triton", "glibc", "pythons"} <= set(row["compared"])
    assert f"fetch     {FIRST}.whl" in err
    assert not list((tmp_path / "work").glob("*.whl"))
    rc, again, err = verify(server, tmp_path / "work", "--offline")
    assert (rc, again) == (0, row)
    assert "fetch" not in err


def test_a_row_that_differs_is_exit_7(server: Server, tmp_path: Path) -> None:
    kernels = made.code([75, 80, 86, 90, 100]) + b"\0GLIBC_2.28\0"
    offer(server, wheel(tmp_path, kernels=kernels))
    rc, row, _ = verify(server, tmp_path / "work")
    assert (rc, row["verdict"]) == (7, "differs")
    assert row["differences"] == [
        {"field": "targets", "row": " ".join(ROW.targets), "measured": "75 80 86 90 100"}
    ]


@pytest.mark.parametrize(
    ("spoilt", "why"),
    [
        ({"kernels": made.code([75])[:-9]}, "near byte"),
        ({"kernels": made.elf(b"nothing")}, "holds no device code"),
        ({"version": bytes(5 << 20)}, "larger than 4 MiB"),
    ],
    ids=["cut", "empty", "swollen"],
)
def test_a_wheel_that_cannot_be_read_is_not_agreed_with(
    spoilt: dict[str, bytes], why: str, server: Server, tmp_path: Path
) -> None:
    offer(server, wheel(tmp_path, **spoilt))
    rc, row, _ = verify(server, tmp_path / "work")
    assert (rc, row["verdict"]) == (0, "cannot be measured")
    assert why in row["why"]


def test_other_bytes_than_the_index_lists_are_tried_again_and_named(
    server: Server, tmp_path: Path
) -> None:
    offer(server, wheel(tmp_path))
    for path in [path for path in server.answers if path.endswith(".whl")]:
        server.put(path, b"PK of somebody else")
    rc, row, err = verify(server, tmp_path / "work")
    assert (rc, row["verdict"]) == (4, "not reachable")
    assert f"did not come: {FIRST}.whl" in err
    asked = [path for path, _ in server.asked if path.endswith(f"{FIRST}.whl")]
    assert len(asked) >= 3
