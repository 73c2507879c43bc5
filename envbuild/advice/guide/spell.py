"""Commands of a guide as each shell reads them; nothing in a word is ever expanded."""

import re
import shlex

from envbuild.advice.guide.base import ps
from envbuild.values.finding import Step

# A comma makes a list and an @ a table of what stands bare in PowerShell.
_PLAIN = re.compile(r"[A-Za-z0-9_./:=-]+", re.ASCII)
# What a shell expands between double quotes, and a backslash before what it would escape.
_EXPANDED = re.compile(r"[$`\"!]|\\[$`\"\\\n]|\\$")


def bash(step: Step) -> str:
    """The command of a step; the script of ``sh -c`` stands bare, for a subshell or a reader."""
    if step.argv[:2] == ("sh", "-c") and len(step.argv) == 3:
        return step.argv[2]
    return " ".join(map(word, step.argv))


def word(text: str) -> str:
    """One word of a POSIX shell, between double quotes where that is easier to read."""
    if "'" in text and _EXPANDED.search(text) is None:
        return f'"{text}"'
    return shlex.quote(text)


def powershell(step: Step) -> str:
    """The command of a step, for a program that Windows starts."""
    words = [text if _PLAIN.fullmatch(text) else ps(text) for text in step.argv]
    called = f"& {words[0]}" if words[0].startswith("'") else words[0]
    return " ".join([called, *words[1:]])
