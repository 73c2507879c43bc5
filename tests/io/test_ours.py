"""What this user built is known on this machine alone; without a place for it nothing is."""

from pathlib import Path

import pytest

from envbuild.io import ours

DIGEST = "sha256:" + "ab" * 32


def test_what_was_noted_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert not ours.built(DIGEST)
    ours.remember(DIGEST)
    assert ours.built(DIGEST)
    assert not ours.built("sha256:" + "00" * 32)


@pytest.mark.parametrize("config", ["", "sha256:", "sha256:../../x", f"{DIGEST}/.."])
def test_what_is_no_digest_is_never_ours(
    config: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    ours.remember(config)
    assert not ours.built(config)
    assert not any(tmp_path.iterdir())


def test_the_home_is_the_place_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A relative one is to be passed over, says the XDG base directory specification.
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setenv("HOME", str(tmp_path))
    ours.remember(DIGEST)
    assert (tmp_path / ".local/state/envbuild/built").is_dir()
    assert ours.built(DIGEST)


def test_a_home_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    ours.remember(DIGEST)
    assert not ours.built(DIGEST)
