"""Checks of what the image's loader finds, and of what is installed in it."""

from envbuild.certify import facts
from envbuild.certify.probes import DRIVER_LIBRARIES
from envbuild.certify.seen import Seen
from envbuild.certify.suites.common import (
    NO_GLIBC,
    another_release,
    broken,
    last_line,
    runtime_library,
)
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Check, Control
from envbuild.values.codec import Pairs, replace

# Looked for by every release; an answer without one of them is no answer.
_ALWAYS = ("libcuda.so.1", "libnvidia-ml.so.1")


def loader(seen: Seen) -> Check:
    """The CUDA runtime library is really loaded."""
    check = Check(
        id="toolchain.loader",
        core=True,
        verdict="pass",
        says="the loader finds the CUDA runtime library, and a program linked with it starts",
        rule="the library is really loaded and of the promised CUDA release; the program ends "
        "with exit code 0",
    )
    ran = seen.step("loads")
    loaded = facts.loads(ran)
    if loaded is None:
        if ran is not None and ran.rc == 127:
            return ruled(check, "skip", NO_GLIBC, "image")
        reason = "the loader probe gave no answer" + (f": {last_line(ran.err)}" if ran else "")
        return ruled(check, "inconclusive", reason, "suite")
    name = runtime_library(seen)
    if name is None:
        reason = f"CUDA {seen.terms.cuda} names no runtime library that is known"
        return ruled(check, "inconclusive", reason, "suite")
    event = loaded[name]
    check = replace(
        check,
        value=event.path,
        inputs=Pairs(
            {
                "library": name,
                "version": facts.version(event.version) if event.version else "",
                "resolved": ",".join(e.path for e in loaded.values() if e.path),
            }
        ),
    )
    cut = (facts.loads(seen.step("loads-cut")) or {}).get(name)
    made = seen.step(f"cut {name}")
    controls: tuple[Control, ...] = ()
    if cut is not None and made is not None and made.ok:
        says = cut.error or (f"signal {cut.signal}" if cut.signal else cut.path)
        controls = (Control(name="cut library", red=not cut.path, says=says[:300]),)
    if not event.path:
        return ruled(check, "fail", f"{name}: {event.error}", "image")
    if made is not None and (stopped := broken(made, "the control")):
        return ruled(check, *stopped, "machine")
    if name.startswith("libcudart.") and not event.version:
        reason = f"{event.path} does not say which CUDA runtime it is"
        return settle(ruled(check, "fail", reason, "image"), *controls)
    version = facts.version(event.version) if event.version else None
    if reason := another_release(seen, version, name):
        return settle(ruled(check, "fail", reason, "image"), *controls)
    linked = seen.step("program-shared")
    if facts.compiler(seen) == "nvcc":
        for step in (seen.step("link-shared"), linked):
            if stopped := broken(step, "the program with the shared runtime"):
                return ruled(check, *stopped, "machine")
            if step and not step.ok:
                reason = f"{step.step}: {last_line(step.err)}"
                return settle(ruled(check, "fail", reason, "image"), *controls)
    return settle(check, *controls)


def no_driver(seen: Seen) -> Check:
    """No driver library is baked in where the loader takes it."""
    found = facts.baked(seen)
    check = Check(
        id="toolchain.no-driver",
        core=True,
        verdict="pass",
        says="no driver library of the image is what its loader takes",
        limit="none",
        value=",".join(found) or "none",
        inputs=Pairs({"looked for": ",".join(DRIVER_LIBRARIES)}),
        rule="without a GPU, none of them resolves, by loading or by the loader's cache, unless "
        "the file it names is gone; files in compat/ or stubs/ that nothing resolves are allowed",
    )
    loaded = facts.loads(seen.step("loads"))
    if loaded is None and not found:
        if (ran := seen.step("loads")) is not None and ran.rc == 127:
            return ruled(check, "skip", NO_GLIBC, "image")
        return ruled(check, "inconclusive", "the loader probe gave no answer", "suite")
    if found:
        reason = f"the image brings {', '.join(found)}: it would stand in the driver's way"
        # It was seen; a control that the loader never came to says nothing against that.
        return ruled(check, "fail", reason, "image")
    planted = facts.loads(seen.step("planted"))
    if planted is None:
        return settle(check)
    looked = [name for name in DRIVER_LIBRARIES if loaded and name in loaded]
    if any(name not in looked for name in (*_ALWAYS, *planted) if name in DRIVER_LIBRARIES):
        return ruled(check, "inconclusive", "not each of them was looked for", "suite")
    paths = [planted[name].path if name in planted else "" for name in looked]
    red = all(f"{seen.probes_at}/planted/" in path for path in paths)
    says = f"seen at {paths[0]}" if red else "not seen"
    return settle(check, Control(name="planted libcuda", red=red, says=says))


def lock_drift(seen: Seen) -> Check:
    """The packages inside are the locked ones."""
    wheels, apt = seen.terms.wheels, seen.terms.apt
    check = Check(
        id="toolchain.lock-drift",
        core=False,
        verdict="pass",
        says="what the image holds is what the lock names",
        rule="every locked package has its locked version; the runtime stage may lack some",
    )
    built = seen.image.labels.get("envbuild.lock")
    drift: tuple[str, ...] = ()
    if seen.terms.lock and built and built != seen.terms.lock:
        drift = (f"the image was built from lock {built[:19]}…, this is another",)
    if not len(wheels) and not len(apt):
        if drift:
            return ruled(check, "fail", drift[0], "image")
        return ruled(check, "skip", "no lock with packages was given", None)
    python = facts.packages(seen.step("packages"))
    debian = facts.apt(seen.step("dpkg"))
    devel = seen.terms.stage == "devel"
    if (len(wheels) and devel and python.python is None) or (len(apt) and debian is None):
        return ruled(check, "inconclusive", "the image's packages cannot be listed", "image")
    drift += facts.other_versions(wheels, python.versions, missing=devel, local=True)
    drift += facts.other_versions(apt, debian or {}, missing=devel)
    name, _ = next(iter((*wheels, *apt)))
    wrong = Pairs({name: "0.control"})
    have = python.versions if wheels.get(name) else (debian or {})
    seen_wrong = facts.other_versions(wrong, have, missing=True)
    control = Control(
        name="changed lock", red=bool(seen_wrong), says=next(iter(seen_wrong), "not seen")
    )
    inputs = Pairs({"wheels": str(len(wheels)), "apt": str(len(apt))})
    check = replace(check, inputs=inputs, value=f"{len(drift)} of {len(wheels) + len(apt)} differ")
    if drift:
        return settle(ruled(check, "fail", "; ".join(drift[:5]), "image"), control)
    return settle(check, control)
