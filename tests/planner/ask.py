"""Plans from keywords, for tests: the real matrices, nothing looked at."""

from typing import Any

from envbuild.matrix.load import load
from envbuild.planner.plan import plan
from envbuild.planner.resolve import resolve
from envbuild.planner.table import Table, table_of
from envbuild.planner.target import Target
from envbuild.values.host import Host
from envbuild.values.plan import Fleet, Plan
from envbuild.values.request import Request, Wish


def table() -> Table:
    """The table of the real matrices."""
    return table_of(load())


def request(cc: str = "", packages: str = "", features: str = "", **fields: Any) -> Request:  # noqa: ANN401
    """A request; lists are written with commas, ``torch==2.8.0,numba``."""
    wishes = []
    for text in filter(None, packages.split(",")):
        name, mark, version = text.partition("==")
        wishes.append(Wish(name=name, range=mark + version))
    return Request(
        cc=tuple(filter(None, cc.split(","))),
        packages=tuple(wishes),
        features=tuple(filter(None, features.split(","))),
        **fields,
    )


def target(cc: str = "", *, host: Host | None = None, **fields: Any) -> Target:  # noqa: ANN401
    """The target of such a request."""
    return resolve(request(cc, **fields), host, load())


def ask(cc: str = "", *, host: Host | None = None, **fields: Any) -> Plan:  # noqa: ANN401
    """The plan of such a request."""
    made = plan(resolve(request(cc, **fields), host, load()), load())
    assert isinstance(made, Plan)
    return made


def ask_fleet(cc: str, **fields: Any) -> Fleet:  # noqa: ANN401
    """The fleet of such a request."""
    made = plan(target(cc, split=True, **fields), load())
    assert isinstance(made, Fleet)
    return made


def ids(plan: Plan, severity: str = "") -> set[str]:
    """Ids of the plan's findings."""
    return {f.id for f in plan.findings if severity in {"", f.severity}}


def why(plan: Plan, cuda: str) -> str:
    """What decided about one toolkit."""
    return next(a.why for a in plan.alternatives if not a.way and a.cuda.startswith(cuda))


def built(plan: Plan) -> tuple[str, ...]:
    """The words of the steps that build a source on top of the image."""
    steps = [step.text for f in plan.findings if f.id == "package-source" for step in f.steps]
    return tuple(word for text in steps for word in text.replace("\\n", " ").split())
