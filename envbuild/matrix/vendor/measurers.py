"""All measurers, and what is said of the tables that none covers."""

from envbuild.errors import InputError
from envbuild.matrix.tables import TABLES
from envbuild.matrix.vendor.model import Measurer, Verdict
from envbuild.values.codec import Value


def measurers() -> dict[str, Measurer]:
    """The measurers by table."""
    from envbuild.matrix.vendor import cccl, distro, features, frameworks, metapackage, toolkits

    every = (
        *(toolkits.TOOLKITS, toolkits.CLASHES, metapackage.WHEELS, distro.DISTRO),
        cccl.FLOORS,
        *(features.FEATURES, features.CAPABILITIES),
        *frameworks.MEASURERS,
    )
    return {one.table: one for one in every}


#: Tables that no measurer covers: the verdict of their rows, and why.
REST: dict[str, tuple[Verdict, str]] = {
    "images": ("not reachable", "tags are a registry's, which is not asked"),
    "rpm_repositories": ("not reachable", "the vendor's repositories are not asked"),
    "repositories": ("not reachable", "the vendor's repositories are not asked"),
    "floors": ("not reachable", "drivers are in no package index"),
    "branches": ("not reachable", "drivers are in no package index"),
    "torch_indexes": ("not reachable", "an index of its own, which is not asked"),
    "oses": ("not reachable", "distributions are not asked"),
    "jetson": ("not reachable", "L4T is in no package index"),
    "dies": ("cannot be measured", "no package lists PCI ids with their dies"),
    "products": ("cannot be measured", "no package lists products; `envbuild detect` measures one"),
}
_OTHER: tuple[Verdict, str] = ("cannot be measured", "no package holds these facts")


def rest(table: str) -> tuple[Verdict, str]:
    """The verdict of each row of a table without a measurer."""
    return REST.get(table, _OTHER)


def chosen(words: tuple[str, ...]) -> tuple[str, ...]:
    """The tables that ``--only`` words name; all where there is none.

    Raises:
        InputError: a word that is neither a group nor a table.
    """
    tables = tuple(name for name in TABLES if name != "sources")
    if not words:
        return tables
    groups: dict[str, set[str]] = {name: {name} for name in tables}
    for one in measurers().values():
        groups[one.group] = groups.get(one.group, set()) | {one.table}
    for word in words:
        if word not in groups:
            import difflib

            near = difflib.get_close_matches(word, groups, 1)
            what = f"--only {word!r} is not known"
            hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(sorted(groups))}"
            raise InputError(what, fix=hint)
    wanted = set().union(*(groups[word] for word in words))
    return tuple(name for name in tables if name in wanted)


def key(table: str, row: Value) -> str:
    """The name of a row in its table: ``2.15.0/pypi/x86_64``."""
    return "/".join(str(getattr(row, field)) for field in TABLES[table].key)
