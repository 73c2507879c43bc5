"""multi.sum: the image's own NCCL sums over all GPUs, right in every number on every GPU.

The library is the one that the loader finds, else that of the Python package. Control: one rank
brings a wrong number, which every GPU must then show, once.
"""

from envbuild.certify.answers import Answer, read
from envbuild.certify.arithmetic import terms
from envbuild.certify.seen import Seen
from envbuild.certify.steps import Bench, Step, Work
from envbuild.certify.suites.multi import common, copies
from envbuild.certify.suites.multi.common import Line
from envbuild.certify.texts import last_line
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Blame, Check, Control
from envbuild.values.codec import Pairs, replace

CHECK = Check(
    id="multi.sum",
    core=True,
    verdict="pass",
    says="the image's NCCL sums over all GPUs",
    unit="wrong numbers",
    limit="0",
    formula="count(result[i] != sum over ranks of what each brought), whole numbers below 2^18",
    rule="all numbers on all GPUs are compared, none differs",
)
_STEP, _WHERE = "multi.sum", "multi.where"
# Where the package nvidia-nccl-cu12 and its like put it: `nvidia` is a package of many parts.
_FIND = (
    "import importlib.util as u\n"
    "s = u.find_spec('nvidia')\n"
    "for p in (s.submodule_search_locations if s else ()): print(p + '/nccl/lib')"
)


def next_work(bench: Bench, seen: Seen) -> Work | None:
    """Where the library may be, then the sum; None where there is one GPU alone, or it ran."""
    if len(common.whole(seen)) < 2:
        return None
    names = {session.name for session in seen.sessions}
    if _WHERE not in names:
        return Work(_WHERE, (Step(_WHERE, ("python3", "-c", _FIND), (), 20.0),), gpu=False)
    if _STEP in names:
        return None
    where = seen.step(_WHERE)
    folders = (where.out if where and where.ok else "").split("\n")
    argv = (bench.probe("probe"), "reduce", "--nonce", seen.nonce, *filter(None, folders[:8]))
    steps = (Step(_STEP, argv, ("NCCL_DEBUG=WARN",), 120.0),)
    return Work(_STEP, steps, devices=common.uuids(seen))


def check(seen: Seen) -> Check:
    """The sum on every GPU."""
    if alone := common.alone(seen, CHECK):
        return alone
    answer = read(seen, _STEP, Line, once=("library", "summed", "changed", "speed"))
    if not answer.whole:
        return ruled(CHECK, answer.verdict, answer.reason, answer.blame)
    library = answer.one("library")
    if library is None or library.error or library.missing:
        reason = "the image has no NCCL: "
        reason += (library.error or f"no {library.missing} in it") if library else "not looked for"
        return ruled(CHECK, "skip", reason, "image")
    failed = answer.one("failed")
    if failed and failed.call.startswith("nccl"):
        return ruled(CHECK, "fail", f"{common.failure(failed)}{_warned(seen)}", _owner(seen))
    if stopped := copies.incomplete(seen, CHECK, answer):
        return stopped
    return _judged(seen, answer, library)


def _judged(seen: Seen, answer: Answer[Line], library: Line) -> Check:
    count = len(common.whole(seen))
    summed, changed, speed = (answer.one(kind) for kind in ("summed", "changed", "speed"))
    facts = {"NCCL": f"{_release(library.version)} {library.path}", "GPUs": str(count)}
    if speed:
        facts["bus bandwidth"] = f"{speed.gbs:.1f} GB/s"
    now = replace(CHECK, inputs=Pairs(facts))
    if summed is None or changed is None or summed.ranks != count or summed.compared < count:
        return ruled(now, "inconclusive", "a sum or its control did not run", "suite")
    says = f"{changed.wrong} wrong after rank {count - 1} brought one wrong number"
    red = changed.wrong == count and changed.compared == summed.compared
    control = Control(name="wrong number of one rank", red=red, says=says)
    now = replace(now, value=str(summed.wrong))
    if summed.wrong:
        reason = f"{summed.wrong} of {summed.compared} sums are wrong"
        return ruled(now, "fail", reason, _owner(seen))
    now = replace(
        now,
        expression="0",
        bounds=("wrong == limit", "ranks == gpus"),
        terms=terms({"wrong": summed.wrong, "ranks": summed.ranks, "gpus": count}),
    )
    return settle(now, control)


def _owner(seen: Seen) -> Blame:
    """The image's library is at fault where plain copies between the same GPUs come through."""
    return "image" if copies.check(seen).verdict == "pass" else "machine"


def _warned(seen: Seen) -> str:
    """What NCCL itself said, on whichever stream."""
    ran = seen.step(_STEP)
    lines = f"{ran.out}\n{ran.err}".splitlines() if ran else []
    warned = next((line for line in lines if "NCCL WARN" in line), "")
    return f" ({last_line(warned)})" if warned else ""


def _release(version: int) -> str:
    """NCCL's own spelling: 22803 is 2.28.3, before 2.9 it was 2804 for 2.8.4."""
    if version < 10000:
        return f"{version // 1000}.{version % 1000 // 100}.{version % 100}"
    return f"{version // 10000}.{version % 10000 // 100}.{version % 100}"
