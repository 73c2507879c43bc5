"""Quoting: what stands in a guide reaches a program as it is, and nothing of it is run."""

import subprocess

import tree_sitter
import tree_sitter_powershell
from hypothesis import given
from hypothesis import strategies as st

from envbuild.advice.guide import spell
from envbuild.advice.guide.base import ps
from envbuild.advice.guide.written import text
from envbuild.values.finding import Step
from envbuild.values.guide import Guide
from tests.setup.made import of_machine

PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_powershell.language()))
NASTY = [
    "",
    " ",
    "'",
    '"',
    "it's",
    "$(id)",
    "`id`",
    "a\\b",
    "\\",
    "!x",
    "a'\"b",
    "-n",
    "'\\'",
    "\\\\'",
]
WORD = st.one_of(
    st.sampled_from(NASTY),
    st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=20),
)


@given(st.lists(WORD, min_size=1, max_size=8))
def test_bash_reads_the_same_words(words: list[str]) -> None:
    step = Step(why="x", argv=("printf", "%s\\0", *words))
    script = spell.bash(step)
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    assert done.stdout.decode() == "".join(f"{word}\0" for word in words)


@given(st.text(max_size=30))
def test_powershell_reads_one_literal(words: str) -> None:
    quoted = ps(words)
    root = PARSER.parse(f"$x = {quoted}\n".encode("utf-8", "surrogatepass")).root_node
    if "\u2018" in words or "\u2019" in words or "\u201a" in words or "\u201b" in words:
        # The grammar does not know that PowerShell takes these for quotes; they are doubled.
        assert all(quoted.count(c) % 2 == 0 for c in "\u2018\u2019\u201a\u201b")
        return
    if "\r" in words or "\0" in words or not words.isprintable():
        return  # `line` takes these out before anything is quoted
    assert not root.has_error
    assert quoted[1:-1].replace("''", "'") == words


def test_a_script_of_sh_stands_bare() -> None:
    assert spell.bash(Step(why="x", argv=("sh", "-c", "cd / && ls"))) == "cd / && ls"
    assert spell.bash(Step(why="x", argv=("sudo", "sh", "-c", "ls"))) == "sudo sh -c ls"


def test_a_program_with_a_blank_is_called() -> None:
    step = Step(why="x", argv=("C:\\Program Files\\x.exe", "-a", "b,c"))
    assert spell.powershell(step) == "& 'C:\\Program Files\\x.exe' -a 'b,c'"


def literals(script: str) -> str:
    """The script without its quoted words and comments: what PowerShell would run."""
    data = script.encode()
    kept = bytearray(data)

    def blank(node: tree_sitter.Node) -> None:
        if node.type in {"verbatim_string_characters", "comment"}:
            for i in range(node.start_byte, node.end_byte):
                kept[i] = 32
            return
        for child in node.children:
            blank(child)

    blank(PARSER.parse(data).root_node)
    return kept.decode()


def odd() -> list[Guide]:
    return [of_machine("odd-names"), of_machine("odd-distro")]


def test_odd_names_of_a_machine_stay_text() -> None:
    for made in odd():
        script = text(made, "powershell")
        assert "Write-Host owned" not in literals(script)
        assert "Remove-Item" not in literals(script)
        bash = text(made, "bash")
        traced = [
            line for line in bash.splitlines() if "$(id)" in line and not line.startswith("#")
        ]
        assert traced == []
        page = text(made, "markdown")
        assert "\nrm" not in page


def test_a_section_text_that_would_end_a_file_ends_none() -> None:
    made = of_machine("ubuntu24-pascal-580")
    smoke = next(one for one in made.sections if one.files)
    from envbuild.values.codec import replace

    file = replace(smoke.files[0], text="END\nrm -rf /\n")
    sections = tuple(replace(s, files=(file,)) if s is smoke else s for s in made.sections)
    script = text(replace(made, sections=sections), "bash")
    assert "<<'END_'" in script
    assert "\nEND_\n" in script
