"""What the rows say to each question of `matrix show`, a module a kind of row."""

from collections.abc import Iterable, Iterator

from envbuild.matrix.answers import cards, compilers, machines, packages, toolkits
from envbuild.matrix.names import cc_of
from envbuild.matrix.show import Line, Question


def sections(question: Question) -> Iterator[tuple[str, Iterable[Line]]]:
    """Title and lines of every question that is asked.

    Raises:
        InputError: something that no row knows; names the nearest.
    """
    cc = cc_of(question.cc) if question.cc else ""
    narrow = f" for cc {cc}" if cc else ""
    asked = False
    for flag, title, answer in (
        (question.cuda, "CUDA", toolkits.cuda),
        (question.torch, "torch", packages.torch),
        (question.driver, "driver", cards.driver),
        (question.package, "package", packages.package),
        (question.tool, "tool", machines.tool),
    ):
        if flag:
            asked = True
            yield f"{title} {flag}{narrow}", answer(flag, cc)
    for flag, title, whole in (
        (question.gpu, "GPU", cards.gpu),
        (question.os, "system", machines.system),
        (question.l4t, "L4T", machines.l4t),
        (question.engine, "engine", machines.engine),
        (question.gcc, "gcc", compilers.gcc),
        (question.python, "Python", compilers.python),
    ):
        if flag:
            yield f"{title} {flag}", whole(flag)
    if question.wsl:
        yield "WSL 2", machines.wsl()
    if cc and not asked:
        yield f"cc {cc}", cards.capability(cc)
