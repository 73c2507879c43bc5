"""A program's answer: whole, of this run, each result named once, or why not."""

import pytest

from envbuild.certify.answers import Answer, ended, read
from envbuild.certify.seen import Ran, Seen, Session, Spoken
from envbuild.values.codec import replace
from tests.certify import samples

STEP = "fast.memory"
START = f'{{"event":"start","nonce":"{samples.NONCE}"}}\n'
END = f'{{"event":"end","nonce":"{samples.NONCE}"}}\n'
RESULT = '{"event":"result","value":3,"unknown":[1]}\n'


class Line(Spoken, frozen=True):
    value: int = 0


def kept(*steps: Ran, rc: int = 0, **fields: object) -> Seen:
    session = replace(Session(name="fast", rc=rc, steps=steps), **fields)
    now = samples.seen()
    return replace(now, sessions=(*now.sessions, session))


def answer(text: str, **fields: object) -> Answer[Line]:
    ran = replace(Ran(step=STEP, rc=0, out=text), **fields)
    return read(kept(ran), STEP, Line, once=("result",))


def test_a_whole_answer_and_other_peoples_noise() -> None:
    found = answer(f"a library greets\n{START}{RESULT}[1]\n{END}goodbye\n")
    assert found.whole
    assert [line.event for line in found.lines] == ["start", "result", "end"]
    result = found.one("result")
    assert result is not None
    assert result.value == 3
    assert found.all("start") == (found.lines[0],)
    assert found.one("nothing") is None


def test_an_answer_that_stops_is_for_its_check_to_see() -> None:
    assert answer(START + RESULT).one("end") is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not of this run"),
        (RESULT + END, "not of this run"),
        (START.replace(samples.NONCE, "0") + RESULT + END, "not of this run"),
        (START + RESULT + END.replace(samples.NONCE, "0"), "not of this run"),
        (START + START + RESULT + END, "twice: start"),
        (START + RESULT + RESULT + END, "twice: result"),
        (START + RESULT + END + END, "twice: end"),
        (START + '{"event":"result","value":"three"}\n' + END, "none of its lines"),
        (START + '{"event":"resu', "none of its lines"),
        (START + '{"value":3}\n' + END, "none of its lines"),
        ("{" * 5000 + "\n" + START, "none of its lines"),
    ],
)
def test_lies_and_broken_lines_are_open(text: str, says: str) -> None:
    found = answer(text)
    assert (found.verdict, found.blame, found.lines) == ("inconclusive", "suite", ())
    assert says in found.reason


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"timed_out": True, "rc": -1, "signal": 9, "ms": 60_100}, "did not end within 60 s"),
        ({"rc": -1, "signal": 11}, "signal 11 ended"),
        ({"rc": 3, "err": "first\nTraceback\nValueError: no"}, "exit code 3: ValueError: no"),
    ],
)
def test_who_owns_a_program_that_fails(fields: dict[str, object], says: str) -> None:
    now = kept(replace(Ran(step=STEP, rc=0), **fields))
    ours, theirs = ended(now, STEP), ended(now, STEP, "image")
    assert ours
    assert theirs
    assert (ours[0], ours[2]) == ("inconclusive", "machine")
    assert (theirs[0], theirs[2]) == ("fail", "image")
    assert says in ours[1]
    assert says in theirs[1]


@pytest.mark.parametrize("owner", ["image", "machine"])
def test_what_is_nobodys_own_fault(owner: str) -> None:
    for fields, verdict, says in (
        ({"rc": 1, "err": "x: No space left on device"}, "inconclusive", "no room to work in"),
        ({"cut": True}, "inconclusive", "256 KiB"),
        ({"rc": 127, "err": "cannot be started"}, "skip", "no glibc loader"),
    ):
        found = ended(kept(replace(Ran(step=STEP, rc=0), **fields)), STEP, owner)  # type: ignore[arg-type]
        assert found
        assert found[0] == verdict
        assert says in found[1]
    assert ended(kept(Ran(step=STEP, rc=0)), STEP) is None


@pytest.mark.parametrize(
    ("now", "verdict", "says"),
    [
        (samples.seen(), "inconclusive", "was not tried: the run ended before it"),
        (kept(rc=-9, timed_out=True), "inconclusive", "its container hung and was removed"),
        (kept(noise=3), "inconclusive", "wrote among the results"),
        (kept(rc=137, says="Killed"), "inconclusive", "ended with exit code 137 (Killed)"),
        (kept(rc=125, says="no such device"), "fail", "no container came up: no such device"),
    ],
)
def test_a_step_that_has_no_result(now: Seen, verdict: str, says: str) -> None:
    found = ended(now, STEP)
    assert found
    assert (found[0], found[2]) == (verdict, "machine")
    assert says in found[1]
