"""What runs on made GPUs shares: their driver, and a place for locks of each process's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuild.certify import guard
from tests.certify import here


@pytest.fixture(scope="session", autouse=True)
def own_locks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("locks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guard, "place", lambda: folder)
        yield


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the made libcuda."""
    return here.fake_libcuda(tmp_path_factory.mktemp("driver"))
