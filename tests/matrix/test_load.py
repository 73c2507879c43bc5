"""Loading: the compiled file, the overlay, and that neither needs YAML nor time without cause."""

import subprocess
import sys
from pathlib import Path

import pytest

from envbuild.data import folder
from envbuild.errors import EnvbuildError, InputError
from envbuild.matrix import load as loading
from envbuild.matrix.compile import compile_matrices
from envbuild.matrix.load import OVERLAY, load, load_names

NEW_TOOLKIT = """sources:
- {id: mine, says: my own machine}
toolkits:
- {cuda: '14.0', targets: ['75', '130'], gcc_max: 17, source: [mine], status: measured}
- {cuda: '12.9', targets: ['61'], gcc_max: 14, source: [mine], status: measured}
products:
- {name: GeForce RTX 6090, cc: '13.0', source: [mine], status: measured}
"""


@pytest.fixture(autouse=True)
def no_overlay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(OVERLAY, raising=False)


def test_compiled_and_yaml_say_the_same() -> None:
    fresh = compile_matrices(folder("matrices"))
    assert load() == fresh.matrices
    assert load().digest == fresh.matrices.digest
    assert load_names() == fresh.names


def test_loading_needs_no_yaml() -> None:
    code = "import sys; from envbuild.matrix.load import load; load(); print('yaml' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


def test_overlay_replaces_and_adds_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = load()
    (tmp_path / "mine.yaml").write_text(NEW_TOOLKIT)
    monkeypatch.setenv(OVERLAY, str(tmp_path))
    after = load()
    rows = {row.cuda: row for row in after.toolkits}
    assert rows["14.0"].targets == ("75", "130")
    assert rows["12.9"].targets == ("61",)
    assert len(after.toolkits) == len(before.toolkits) + 1
    assert after.digest != before.digest
    assert after.date == before.date
    assert after.images == before.images
    assert "GeForce RTX 6090" in {row.name for row in load_names().products}
    monkeypatch.delenv(OVERLAY)
    assert load() == before


def test_a_product_in_the_overlay_changes_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.yaml").write_text(
        "products:\n- {name: GeForce RTX 6090, cc: '13.0', source: [cuda-gpus], status: sourced}\n"
    )
    before = load().digest
    monkeypatch.setenv(OVERLAY, str(tmp_path))
    assert load().digest != before


def test_an_overlay_that_is_not_there_is_an_input_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OVERLAY, str(tmp_path / "missing"))
    with pytest.raises(InputError, match="not a folder"):
        load()


def test_a_bad_overlay_row_names_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.yaml").write_text(NEW_TOOLKIT.replace("gcc_max: 17", "gcc_maks: 17"))
    monkeypatch.setenv(OVERLAY, str(tmp_path))
    with pytest.raises(InputError, match=r"mine\.yaml:4: unknown key 'gcc_maks'") as e:
        load()
    assert "gcc_max" in e.value.fix


def test_a_broken_installation_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "compiled.json").write_text('{"date": ')
    monkeypatch.setattr(loading, "folder", lambda _: tmp_path)
    loading._packed.cache_clear()
    try:
        with pytest.raises(EnvbuildError, match=r"matrices/compiled\.json") as e:
            load()
        assert e.value.exit_code == 1
    finally:
        loading._packed.cache_clear()
