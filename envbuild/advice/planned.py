"""What to change to: the planner asked for this machine, so that no advice holds a version."""

from envbuild.errors import EnvbuildError
from envbuild.matrix.load import load
from envbuild.values.host import Host
from envbuild.values.plan import Plan
from envbuild.values.request import Request, Wish


def planned(host: Host | None, packages: tuple[str, ...], **changes: object) -> Plan | None:
    """The plan for a machine; None where it has no known GPU, or the request cannot be read."""
    from envbuild.planner.plan import plan
    from envbuild.planner.resolve import resolve
    from envbuild.values.codec import replace

    request = replace(Request(packages=tuple(map(_wish, packages))), **changes)
    try:
        target = resolve(request, host, load())
        if not target.cards:
            return None
        made = plan(target, load())
    except EnvbuildError:
        return None
    return made if isinstance(made, Plan) else None


def _wish(text: str) -> Wish:
    name, equals, version = text.partition("==")
    return Wish(name=name, range=f"{equals}{version}")
