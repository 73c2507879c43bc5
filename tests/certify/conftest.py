"""Runs of these tests are on made GPUs of one name: each process has its own place for locks."""

from collections.abc import Iterator

import pytest

from envbuild.certify import guard


@pytest.fixture(scope="session", autouse=True)
def own_locks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("locks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guard, "place", lambda: folder)
        yield
