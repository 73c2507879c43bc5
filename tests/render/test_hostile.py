"""Plans and locks are files: whatever stands in a field of one, no command does what it says."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from envbuild.certify import probes
from envbuild.cli.app import run
from envbuild.render import templates
from envbuild.values.codec import digest, dump, replace
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan
from tests.render import locks, plans

EVIL = (
    "\x1b[2J\x1b]0;t\x07\r\nRUN touch /pwned",
    "$(touch pwned)`touch pwned`;touch pwned #",
    "../../../pwned",
    "{{ 6007*6007 }}{% raw %}' \" \\",
    "\u202eA\u2028B\x00",
)
PAIRS = {
    "wheels": (plans.WHEELS, locks.WHEELS),
    "distro": (plans.DISTRO, locks.DISTRO),
}


def leaves(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every text in a document, but of lists only the first entry: the others are read the same."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list) and value:
        yield from leaves(value[0], (*path, 0))


def with_text(document: object, path: tuple[str | int, ...], text: str) -> object:
    """A copy with another text in one place."""
    if not path:
        return text
    if isinstance(document, list):
        return [with_text(document[0], path[1:], text), *document[1:]]
    assert isinstance(document, dict)
    return document | {path[0]: with_text(document[path[0]], path[1:], text)}


@pytest.mark.parametrize("kind", ["plan", "lock"])
@pytest.mark.parametrize("name", PAIRS)
def test_no_text_of_a_file_reaches_a_shell_a_template_a_path_or_a_terminal(
    name: str,
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    place = tmp_path / "a" / "b"
    place.mkdir(parents=True)
    monkeypatch.chdir(place)
    plan, lock = PAIRS[name]
    right = {"plan": dump(plan), "lock": dump(fitting(lock, plan))}
    # A lock of the plan with that text is another one: a plan stands alone.
    how = ("--no-lock",) if kind == "plan" else ("--lock", "lock.json")
    document = msgspec.json.decode(right[kind])
    rendered = 0
    for path in leaves(document):
        for evil in EVIL:
            files = right | {kind: msgspec.json.encode(with_text(document, path, evil))}
            for file, data in files.items():
                Path(f"{file}.json").write_bytes(data)
            code = run(["render", "plan.json", *how, "-o", "context"])
            out, err = capfd.readouterr()
            assert code in {0, 2, 3, 7}, (path, evil, err)
            assert all(c == "\n" or c.isprintable() for c in out + err), (path, evil)
            assert "bug in envbuild" not in err, (path, evil, err)
            if code == 0:
                rendered += 1
                harmless(Path("context"), evil)
            assert not list(tmp_path.rglob("pwned*"))
            assert {one.name for one in place.iterdir()} <= {"plan.json", "lock.json", "context"}
    assert rendered, "the control: not all of it is refused"


def fitting(lock: Lock, plan: Plan) -> Lock:
    """The lock as of today's templates and probes."""
    now = {"templates": templates.hashes(), "probes": probes.hashes()}
    return replace(lock, plan=digest(plan), **now)


def harmless(context: Path, evil: str) -> None:
    """Where it stands in a file at all, it is one quoted word, or text that nothing reads."""
    for file in context.rglob("*"):
        if file.is_file() and file.suffix not in {".json", ".lock", ".md"}:
            text = file.read_text(encoding="utf-8")
            assert not {"\x1b", "\x00", "\u202e", "\r"} & set(text), (file, evil)
            assert str(6007 * 6007) not in text, file
            for line in text.splitlines():
                if "pwned" in line:
                    assert re.match(r'#|(LABEL|ENV)? *[\w.]+="', line), line
                    assert not re.search(r"(?<![\\$])\$\(", line), line
