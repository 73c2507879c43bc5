"""Checks of the image's compiler: that it works, whom it is paired with, what it makes."""

from envbuild.certify import facts
from envbuild.certify.seen import Seen
from envbuild.certify.suites.common import another_release, broken, last_line, no_compiler
from envbuild.certify.terms import cc_of_target, covers
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Blame, Check, Control
from envbuild.values.codec import Pairs, replace

_REFUSED = ("unsupported GNU version", "unsupported clang version")


def compiles(seen: Seen) -> Check:
    """The compiler makes device code and whole programs."""
    name = facts.compiler(seen)
    check = Check(
        id="toolchain.compiles",
        core=True,
        verdict="pass",
        says="the image's own compiler makes the add kernel, and a program that links and starts",
        rule="each compilation and the program end with exit code 0; the compiler is of the "
        "promised CUDA release",
    )
    if early := no_compiler(seen, check):
        return early
    control = _broken_source(seen)
    names = ["compile", "object", "link", "program"] if name == "nvcc" else ["compile"]
    for step in names:
        ran = seen.step(step)
        if stopped := broken(ran, step):
            return ruled(check, *stopped, "machine")
        if ran and not ran.ok:
            reason = f"{step}: {last_line(ran.err or ran.out)}"
            # It has just shown that it can fail; its control would only fail for the same reason.
            return ruled(check, "fail", reason, "image")
    if name == "nvcc" and (reason := another_release(seen, facts.toolkit(seen), name)):
        return settle(ruled(check, "fail", reason, "image"), *control)
    runtime = facts.program_runtime(seen.step("program"))
    if name == "nvcc" and runtime is None:
        return settle(ruled(check, "fail", "the program did not say its line", "image"), *control)
    inputs = Pairs(
        {
            "targets": ",".join(seen.terms.promise),
            "compiler": f"{name} {facts.toolkit(seen) or ''}".rstrip(),
            **({"runtime of the program": runtime} if runtime else {}),
        }
    )
    return settle(replace(check, value=inputs.get("compiler") or "", inputs=inputs), *control)


def _broken_source(seen: Seen) -> tuple[Control, ...]:
    ran = seen.step("broken")
    if ran is None or ran.timed_out:
        return ()
    red = not ran.ok and "no_such_function" in ran.err + ran.out
    says = "refused" if red else f"ended with {ran.rc}: {last_line(ran.err)}"
    return (Control(name="broken source", red=red, says=says),)


def pair(seen: Seen) -> Check:
    """Host compiler and toolkit go together, by the matrix and by the header."""
    check = Check(
        id="toolchain.pair",
        core=True,
        verdict="pass",
        says="the host compiler that nvcc uses is one that this toolkit takes",
        formula="major(host compiler) <= ceiling(toolkit)",
        rule="at or below the ceiling of the matrix, and the toolkit's header agrees",
    )
    if early := no_compiler(seen, check):
        return early
    if facts.compiler(seen) == "nvrtc":
        reason = "NVRTC compiles without a host compiler"
        return ruled(check, "skip", reason, "image", core=False)
    ran = seen.step("pair")
    if stopped := broken(ran, "nvcc -E"):
        return ruled(check, *stopped, "machine")
    pair = facts.pair(ran) or facts.pair(seen.step("pair-anyway"))
    if ran is None or pair is None:
        reason = last_line(ran.err) if ran else ""
        return ruled(check, "fail", f"nvcc names no pair: {reason}", "image")
    ceiling = seen.ceiling
    limit = (ceiling.clang if pair.host == "clang" else ceiling.gcc) if ceiling else None
    check = replace(
        check,
        value=f"{pair.host} {pair.major}.{pair.minor}",
        limit=f"{pair.host} {limit}" if limit else "",
        inputs=Pairs(
            {
                "nvcc": pair.cuda,
                "host compiler": f"{pair.host} {pair.major}.{pair.minor}",
                "ceiling": str(limit) if limit else "unknown",
                "row": ceiling.source if ceiling else "none",
            }
        ),
    )
    controls = _ceiling(seen)
    if limit is None:
        reason = f"no matrix row says which {pair.host} CUDA {pair.cuda} takes"
        return ruled(check, "inconclusive", reason, "suite")
    if pair.major > limit:
        reason = f"{pair.host} {pair.major} is above {limit}"
        return settle(ruled(check, "fail", reason, "image"), *controls)
    if not ran.ok:
        return settle(ruled(check, "fail", last_line(ran.err), "image"), *controls)
    return settle(check, *controls)


def _ceiling(seen: Seen) -> tuple[Control, ...]:
    """The header's own refusal: by a real compiler above the ceiling, else by a pretended one."""
    tries = [ran for session in seen.sessions for ran in session.steps]
    refused: Control | None = None
    stayed: Control | None = None
    for ran in tries:
        if not ran.step.startswith("ceiling "):
            continue
        name = ran.step.removeprefix("ceiling ")
        if not ran.ok and any(word in ran.err for word in _REFUSED):
            refused = refused or Control(name=name, red=True, says=last_line(ran.err))
        elif stayed is None:
            stayed = Control(name=name, red=False, says=f"not refused: {last_line(ran.err)}")
    found = refused or stayed
    return (found,) if found else ()


def sass(seen: Seen) -> Check:
    """Machine code for every promised target."""
    own = seen.code("image")
    code = own or seen.code("prebuilt")
    other = seen.code("other" if own else "prebuilt-other")
    by_image = facts.listed(seen.step("cuobjdump")) if own else None
    promise = seen.terms.promise
    check = Check(
        id="toolchain.sass",
        core=True,
        verdict="pass",
        says="machine code for every promised target is in what was compiled",
        limit=",".join(promise),
        formula="promised targets - targets found = nothing",
        rule="every promised target is found; cuobjdump of the image and our reader agree",
    )
    if own is None and (early := no_compiler(seen, check)) and early.core:
        return early
    if own is None and facts.compiler(seen):
        if stopped := broken(seen.step("compile"), "compile"):
            return ruled(check, *stopped, "machine")
        return ruled(check, "fail", "nothing was compiled", "image")
    if code is None or code.error:
        blame: Blame = "image" if own else "suite"
        reason = code.error if code else "the device code was not read"
        return ruled(check, "fail" if own else "inconclusive", reason, blame)
    found = by_image if by_image is not None else code.targets
    check = replace(
        check,
        says=check.says if own else "the prebuilt code covers every promised target",
        value=",".join(found),
        inputs=Pairs(
            {
                "promised by": seen.terms.origin,
                "code": code.name,
                "reader": ",".join(code.targets),
                "cuobjdump": "none in the image" if by_image is None else ",".join(by_image),
            }
        ),
    )
    controls: tuple[Control, ...] = ()
    if other and not other.error:
        listed = facts.listed(seen.step("cuobjdump-other")) if own else None
        there = listed if listed is not None else other.targets
        missing = _lacking(promise, there, own=own is not None)
        says = f"sm_{',sm_'.join(missing)} not found in code for sm_{',sm_'.join(there)}"
        controls = (Control(name="wrong cc", red=bool(missing and there), says=says),)
    if by_image is not None and set(by_image) != set(code.targets):
        reason = "cuobjdump of the image and our reader disagree"
        return ruled(check, "inconclusive", reason, "suite")
    lacking = _lacking(promise, found, own=own is not None)
    if lacking:
        reason = f"no machine code for sm_{', sm_'.join(lacking)}"
        return settle(ruled(check, "fail", reason, "image" if own else "suite"), *controls)
    return settle(check, *controls)


def _lacking(promise: tuple[str, ...], found: tuple[str, ...], *, own: bool) -> list[str]:
    """Promised targets without code.

    The own compiler owes the very targets; prebuilt code is of plain targets only and must run on
    the same devices.
    """
    if own:
        return [target for target in promise if target not in found]
    return [target for target in promise if not covers(found, cc_of_target(target))]
