"""A toolkit's archive files: which ones make the plan's prefix, and what their hashes are."""

from envbuild.errors import InputError, MachineError
from envbuild.io.net import Net
from envbuild.lock import conda, redist
from envbuild.render import archive, quote
from envbuild.values.lock import Part
from envbuild.values.plan import Plan


def lock_parts(plan: Plan, net: Net) -> tuple[Part, ...]:
    """Every file of ``plan.layout.archive`` that is unpacked, in order; none for other sources.

    Raises:
        InputError: the plan does not say what it takes of the archive.
        MachineError: the archive does not answer, or lacks the release or one of its parts.
        NoPlanError: no set of conda packages meets what the plan wants.
    """
    where = plan.layout.archive
    if where is None or where.kind == "apt":
        return ()
    if plan.cuda is None or not where.parts:
        what = f"the plan does not say what it takes from {where.name}"
        raise InputError(what, fix="use a plan that envbuild wrote")
    url = archive.mirrored(archive.address(where), net.toolkit_mirror)
    find = redist.find if where.kind == "redist" else conda.find
    return tuple(_checked(part) for part in find(plan, where, url, net))


def _checked(part: Part) -> Part:
    """An index may hold anything; what goes into a list for a shell may not."""
    try:
        quote.path(part.path)
        quote.sha256(part.sha256)
        quote.version(part.version)
    except InputError as e:
        what = f"the archive's index describes {part.name} with a text that cannot be right"
        raise MachineError(what, why=e.what, fix="check the mirror; tell who runs it") from e
    return part
