"""What a launch costs, and what it costs in a graph; by the host's clock."""

from envbuild.certify.arithmetic import terms
from envbuild.certify.limits import figure
from envbuild.certify.seen import Seen
from envbuild.certify.suites.fast.answer import Part, measured, part, unjudged
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Check, Control, Measure
from envbuild.values.codec import Pairs, replace

_NODES = 100
# A launch that the host spends 10 us more on, less what may be hidden behind the device.
_SPUN = 7.0
# A node of a graph costs less than a launch of its own: 0.12 to 0.21 on H200s, whose launches vary
# by a fifth from one row to the next.
_GRAPH = 0.6
# Not there, not supported: cuda.h.
_NO_GRAPHS = frozenset({500, 801})


def launch(seen: Seen) -> Check:
    """A launch that is waited for, and one of many; no limit is known, so it is reported."""
    check = Check(
        id="fast.launch",
        core=False,
        verdict="pass",
        says="what it costs to launch an empty kernel and to wait for it",
        unit="us",
        limit="unknown",
        rule="it is measured; it depends on the host's processor and system, no limit is known",
    )
    answer = part(seen, "latency")
    if early := unjudged(check, answer):
        return early
    waited, row = answer.samples("launch.waited"), _times(answer, "launch.row")
    if waited is None or row is None:
        return ruled(check, *answer.missing("a launch"))
    alone = measured(answer, waited, waited.us, "us")
    alone = replace(alone, shown=f"{alone.value:.1f} us a launch")
    inputs = Pairs({"in a row of 100": f"{row.value:.2f} us each"})
    check = replace(check, value=f"{alone.value:.2f}", measure=alone, inputs=inputs)
    spun = _times(answer, "launch.spun")
    if spun is None:
        return settle(check)
    more = spun.value - row.value
    says = f"10 us of the host's time more cost {more:.1f} us"
    return settle(check, Control(name="a busy host", red=more > _SPUN, says=says))


def graph(seen: Seen) -> Check:
    """A graph of 100 empty kernels against 100 launches."""
    check = Check(
        id="fast.graph",
        core=False,
        verdict="pass",
        says="a kernel in a CUDA graph costs less than a launch of its own",
        unit="us a node",
        limit=f"{_GRAPH} of a launch",
        formula=f"time of a graph of {_NODES} / time of {_NODES} launches",
        rule="the 95 % interval of a node lies below that share of a launch",
    )
    answer = part(seen, "latency")
    if early := unjudged(check, answer):
        return early
    failed, made = answer.one("failed"), answer.one("graph")
    if failed and failed.code in _NO_GRAPHS:
        reason = f"the driver has no CUDA graphs: {failed.call} answers {failed.code}"
        return ruled(check, "skip", reason, "machine")
    line, row = answer.samples("graph.node"), _times(answer, "launch.row")
    if line is None or row is None or made is None:
        return ruled(check, *answer.missing("a graph"))
    node = measured(answer, line, line.us, "us a node")
    share = node.value / row.value
    check = replace(
        check,
        value=f"{node.value:.2f}",
        measure=replace(node, shown=f"{node.value:.2f} us a node"),
        inputs=Pairs({"launch": f"{row.value:.2f} us", "share": f"{share:.2f}"}),
        expression=f"{_GRAPH} * launch_us",
        bounds=("high <= limit", f"nodes == {_NODES}"),
        terms=terms({"launch_us": row.value, "nodes": made.nodes}),
    )
    apart = _times(answer, "graph.apart")
    controls: tuple[Control, ...] = ()
    if apart:
        slower = apart.value / row.value
        says = f"100 launches in its place: {slower:.2f}"
        controls = (Control(name="launches instead", red=slower > _GRAPH, says=says),)
    if made.nodes != _NODES:
        reason = f"the graph holds {made.nodes} of {_NODES} kernels"
        return settle(ruled(check, "fail", reason, "machine"), *controls)
    if node.low > _GRAPH * row.value:
        reason = f"a node costs {share:.2f} of a launch"
        return settle(ruled(check, "fail", reason, "machine"), *controls)
    if node.high > _GRAPH * row.value:
        reason = f"the interval of a node holds {_GRAPH} of a launch"
        return settle(ruled(check, "inconclusive", reason, "machine"), *controls)
    return settle(check, *controls)


def _times(answer: Part, name: str) -> Measure | None:
    line = answer.samples(name)
    return figure(line.us, "us") if line else None
