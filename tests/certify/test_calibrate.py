"""Rates that no row has become an overlay that loads, and that the next run is judged by."""

from pathlib import Path

import pytest

from envbuild.certify import calibrate, run
from envbuild.certify.card import Card, card_of
from envbuild.cli.app import run as command
from envbuild.matrix.load import load_reference
from envbuild.values.certificate import Certificate
from envbuild.values.codec import dump, replace
from envbuild.values.host import Gpu
from tests.certify import fast_samples, samples
from tests.certify.fast_samples import Device

# No row has a rate of this one (Jetson Orin NX's successor would be the next number).
UNKNOWN = Device(cc="11.7", name="made", bus_bits=256, memory_khz=1000000)


def certificate(device: Device, *, known: bool = False) -> Certificate:
    now = fast_samples.seen(device)
    card = card_of(Gpu(cc=device.cc)) if known else Card()
    found = run.state(replace(now, card=card), ("fast",), replayed=True)
    made = found.device
    assert made is not None
    return replace(found, device=replace(made, cc=device.cc, name=device.name))


def test_rows_load_and_are_the_limits_of_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = calibrate.overlay(certificate(UNKNOWN))
    assert text is not None
    (tmp_path / "measured.yaml").write_text(text)
    monkeypatch.setenv("ENVBUILD_MATRICES", str(tmp_path))
    rows = {r.dtype: r for r in load_reference().rates if r.cc == "11.7" and r.unit == "fma"}
    assert {name: row.per_sm_clock for name, row in rows.items()} == {"f32": 256, "f64": 128}
    assert {row.status for row in rows.values()} == {"measured"}
    assert "252.2 measured" in str(rows["f32"].note)
    again = certificate(UNKNOWN, known=True)
    fast = next(s for s in again.suites if s.name == "fast")
    found = {c.id: c for c in fast.checks}
    assert found["fast.fma-f32"].verdict == "pass"
    assert found["fast.fma-f32"].inputs.get("row") == "rates/11.7 measured"


def test_known_rates_are_not_written_again() -> None:
    assert calibrate.overlay(certificate(Device(), known=True)) is None


def test_a_figure_without_its_controls_is_not_written() -> None:
    found = certificate(UNKNOWN)
    suites = tuple(
        replace(s, checks=tuple(replace(c, controls=()) for c in s.checks)) for s in found.suites
    )
    assert calibrate.overlay(replace(found, suites=suites)) is None


def test_nothing_without_a_device() -> None:
    assert calibrate.overlay(replace(certificate(UNKNOWN), device=None)) is None


def test_a_figure_far_below_a_lane_count_says_so() -> None:
    text = calibrate.overlay(certificate(UNKNOWN._replace(fma=0.85 * 0.78)))
    assert text is not None
    assert "per_sm_clock: 192" in text
    text = calibrate.overlay(certificate(UNKNOWN._replace(fma=0.76 * 0.985 * 1.03)))
    assert text is not None
    assert "far below" in text


@pytest.mark.parametrize(
    ("value", "rate"),
    [(3.9, 4), (4.02, 4), (4.1, 6), (127.7, 128), (190.0, 192), (252.6, 256), (381.0, 384)],
)
def test_lane_counts(value: float, rate: int) -> None:
    assert calibrate.proposed(value) == rate


def test_the_command_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen, out = tmp_path / "seen.json", tmp_path / "rates.yaml"
    argv = ["certify", "--observed", str(seen), "--require", "fast", "--calibrate", str(out)]
    seen.write_bytes(dump(fast_samples.seen(Device())))
    command(argv)
    assert not out.exists()
    assert "every rate" in capsys.readouterr().err
    now = replace(fast_samples.seen(UNKNOWN), card=Card())
    seen.write_bytes(dump(samples.smoke(now, ('"major":9,"minor":0', '"major":11,"minor":7'))))
    command(argv)
    assert "dtype: f64, per_sm_clock: 128" in out.read_text()
