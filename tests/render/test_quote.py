"""Filters of the templates: what goes in comes out, and nothing else with it."""

from collections.abc import Callable

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from envbuild.errors import InputError
from envbuild.render import quote


@given(st.text())
def test_yaml_reads_back(text: str) -> None:
    assert yaml.safe_load(quote.yaml(text)) == quote.line(text).replace("$", "$$")


@given(st.text())
def test_a_dockerfile_word_has_no_open_end(text: str) -> None:
    word = quote.dockerfile(text)
    inner = word[1:-1]
    assert word[0] == word[-1] == '"'
    bare = inner.replace("\\\\", "").replace('\\"', "").replace("\\$", "")
    assert not set(bare) & {'"', "$", "\\"}


@given(st.text())
def test_a_line_is_one_line(text: str) -> None:
    assert len(quote.line(text).splitlines()) <= 1
    assert len(quote.line(text)) == len(text)


def test_markdown_shows_marks_as_text() -> None:
    assert quote.markdown("a|b `c` <script>") == "a\\|b \\`c\\` \\<script\\>"
    assert quote.code("a`b") == "a'b"


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (quote.ref, "docker.io/library/debian:trixie@sha256:" + "0" * 64, "debian trixie"),
        (quote.ref, "127.0.0.1:5077/a/b:c", "-debian"),
        (quote.package, "libstdc++-12-dev", "a b"),
        (quote.requirement, "cuda-toolkit[nvcc,cudart]==13.0.2", "x; python_version<'3'"),
        (quote.requirement, "torch==2.14.1+cu126", "https://x/y.whl"),
        (quote.variable, "CUDA_HOME", "1A"),
        (quote.folder, "nvidia/cu13", "a/../b"),
        (quote.version, "4:99-1~deb12u1", "1;2"),
        (quote.provides, "libcuda.so.1 (= 999)", "x, y"),
        (quote.url, "https://download.pytorch.org/whl/cu126", "https://user@x/"),
        (quote.component, "non-free", "a b"),
    ],
)
def test_shapes(check: Callable[[str], str], good: str, bad: str) -> None:
    assert check(good) == good
    with pytest.raises(InputError):
        check(bad)
