"""Limits and bounds as arithmetic: what is computed, and that nothing else is."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuild.certify import run
from envbuild.certify.arithmetic import broken, evaluate, holds, numbers_of
from envbuild.certify.seen import Seen
from envbuild.errors import InputError
from envbuild.values.certificate import Check
from envbuild.values.codec import Pairs, load, replace

RECORDED = Path(__file__).with_name("recorded")
NAMES = {"rate": 256.0, "low": 250.0, "clock_khz": 3201000.0, "bus_bits": 6016.0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("rate", 256.0),
        ("rate / 2", 128.0),
        ("clock_khz * 2000 * bus_bits / 8e9", 4814.304),
        ("(1 + 2) * 3 - 4", 5.0),
        ("0.5 * (rate - 6)", 125.0),
    ],
)
def test_an_expression_has_its_value(text: str, value: float) -> None:
    assert evaluate(text, NAMES) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "", "rate +", "unknown", "rate ** 2", "-rate", "__import__('os').system('true')",
        "rate.real", "[rate]", "rate if rate else 0", "'256'", "True", "1e999", "rate / 0",
        "rate // 2", "(" * 90 + "1" + ")" * 90 + "x", "1+" * 200 + "1", "rate >= 1", "rate\x00",
        "lambda: 1", "1e308 * 1e308",
    ],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is no bound"):
        evaluate(text, NAMES)


@pytest.mark.parametrize(
    ("text", "true"),
    [
        ("low >= 0.97 * rate", True),
        ("low >= 0.98 * rate", False),
        ("low <= rate", True),
        ("rate == 256", True),
        ("rate == 255", False),
        ("low < 250", False),
        ("low > 249", True),
    ],
)
def test_a_bound_holds_or_not(text: str, *, true: bool) -> None:
    assert holds(text, NAMES) is true


@pytest.mark.parametrize("text", ["low", "1 < low < 2", "low != 1", "low in rate", "low >= x"])
def test_a_bound_is_one_comparison(text: str) -> None:
    with pytest.raises(InputError, match="is no bound"):
        holds(text, NAMES)


@given(st.text(max_size=40), st.sampled_from([evaluate, holds]))
def test_any_text_is_arithmetic_or_refused(
    text: str, read: Callable[[str, dict[str, float]], float]
) -> None:
    with contextlib.suppress(InputError):
        assert isinstance(read(text, NAMES), float | bool)


def test_terms_are_numbers_and_take_no_other_place() -> None:
    check = Check(id="fast.x", core=True, verdict="pass", says="", expression="rate / 2")
    good = replace(check, terms=Pairs({"rate": "256"}))
    assert numbers_of(good) == {"rate": 256.0, "limit": 128.0}
    for terms in ({"rate": "many"}, {"rate": "inf"}, {"rate": "2", "limit": "9"}):
        with pytest.raises(InputError, match=r"fast\.x"):
            numbers_of(replace(check, terms=Pairs(terms)))


@pytest.mark.parametrize("name", sorted(json.loads((RECORDED / "expected.json").read_bytes())))
def test_limits_and_verdicts_of_recordings_follow_from_their_terms(name: str) -> None:
    """Of an H200 and of images without a GPU, recorded: each figure with a limit has its terms."""
    seen = load(Seen, (RECORDED / name).read_bytes(), name)
    certificate = run.state(seen, ("smoke",), replayed=True)
    checks = [check for suite in certificate.suites for check in suite.checks]
    for check in checks:
        limit = check.measure.limit if check.measure else None
        if limit is not None:
            assert numbers_of(check)["limit"] == pytest.approx(limit, rel=1e-12), check.id
            assert check.bounds, check.id
        if check.verdict == "pass":
            assert broken(check) == (), check.id
    if "fast" in name:
        assert sum(bool(check.bounds) for check in checks) > 15
