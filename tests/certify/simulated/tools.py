"""Tools of a CUDA image as they answer: sanitizer, debugger, profilers; texts as on one H200."""

from pathlib import Path

from tests.certify.simulated.machine import Answer, Call, Program
from tests.certify.simulated.runner import fails, open_device
from tests.certify.simulated.speech import Speech

_FOUND = {
    "memcheck": "========= Invalid __global__ write of size 4 bytes\n=========     at {}+0x70\n",
    "racecheck": "========= Error: Race reported between Write access at {}+0xf0\n",
    "synccheck": "========= Barrier error detected. Divergent thread(s) in warp.\n"
    "=========     at {}+0x70\n",
}
_BUG = {"memcheck": "out_of_bounds", "racecheck": "race", "synccheck": "divergent"}
_NAMES = ("compute-sanitizer", "cuda-gdb", "ncu", "nsys")


def _kernel(call: Call) -> str:
    """The kernel that the launched program is told to start, under its full name."""
    return f"envbuild_{call.after('--kernel')}_{call.after('--nonce')}"


def _launch(call: Call) -> Answer:
    said, nonce = Speech(), call.after("--nonce")
    said.say("start", nonce=nonce)
    if open_device(call, said) and not fails(call, said, "launched"):
        said.say("launched", compared=64, wrong=0)
        said.say("end", nonce=nonce, calls=21, bad=0)
    return Answer(said.text)


def _refused(call: Call) -> Answer | None:
    """What the tool says instead of working; None where nothing is in its way."""
    name = Path(call.argv[0]).name
    text = next((text for tool, text in call.trouble.tools if tool == name), None)
    return None if text is None else Answer(f"{_launch(call).out}{text}\n", "", 1)


def _sanitizer(call: Call) -> Answer:
    if refused := _refused(call):
        return refused
    tool, kernel, trouble = call.after("--tool"), call.after("--kernel"), call.trouble
    bug = kernel == _BUG[tool] and f"sanitizer {tool}" not in trouble.wrong
    bug = bug or (kernel == "clean" and tool in trouble.green)
    found = _FOUND[tool].format(_kernel(call)) if bug else ""
    kind, unit = ("RACECHECK", "hazards displayed") if tool == "racecheck" else ("ERROR", "errors")
    out = f"========= COMPUTE-SANITIZER\n{_launch(call).out}{found}"
    return Answer(f"{out}========= {kind} SUMMARY: {int(bug)} {unit}\n", "", 86 if bug else 0)


def _debugger(call: Call) -> Answer:
    if refused := _refused(call):
        return refused
    wanted = next(word.split()[1] for word in call.argv if word.startswith("break envbuild"))
    out = f"Breakpoint 1 ({wanted}) pending.\n"
    if wanted != _kernel(call) or "cuda-gdb" in call.trouble.wrong:
        ended = "" if "breakpoint at no kernel" in call.trouble.green else "exited normally"
        out += f"{_launch(call).out}[Inferior 1 (process 1131) {ended}]\nNo CUDA kernels.\n"
        return Answer(out, "", 0 if wanted == _kernel(call) else 1)
    out += f"CUDA thread hit Breakpoint 1, 0x00007f in {wanted}<<<(1,1,1),(64,1,1)>>> ()\n"
    return Answer(f"{out}*      0      -   0    1 Active 0x01 (1,1,1) (64,1,1) {wanted}() \n")


def _ncu(call: Call) -> Answer:
    if "--import" in call.argv:
        path = Path(call.after("--import"))
        text = path.read_text() if path.is_file() else ""
        if not text:
            return Answer(f"==ERROR== Failed to open report file '{path}'.\n", "", 1)
        kernel, metric = text.split()
        return Answer(f'"ID","Kernel Name","{metric}"\n"","","cycle"\n"0","{kernel} (1)","4321"\n')
    if refused := _refused(call):
        return refused
    path, kernel = Path(f"{call.after('-o')}.ncu-rep"), _kernel(call)
    other = "ncu" in call.trouble.wrong
    green = "report of another kernel" in call.trouble.green and "race" in kernel
    kernel = kernel.replace("race", "clean") if green else kernel
    path.write_text(f"{'void_kernel' if other else kernel} {call.after('--metrics')}")
    return Answer(f"{_launch(call).out}==PROF== Report: {path}\n")


def _nsys(call: Call) -> Answer:
    if refused := _refused(call):
        return refused
    path = Path(f"{call.after('-o')}.sqlite")
    if "nsys" not in call.trouble.wrong:
        path.write_text(f"SQLite format 3 {_kernel(call)}")
    return Answer(f"{_launch(call).out}Generated:\n\t{path}\n")


def _holds(call: Call) -> Answer:
    said, (nonce, file, name) = Speech(), call.argv[3:]
    path = Path(file)
    text = path.read_text() if path.is_file() else None
    said.say("start", nonce=nonce)
    times = text.count(f"envbuild_{name}_{nonce}") if text else 0
    said.say("holds", bytes=-1 if text is None else len(text), times=times)
    said.say("end", nonce=nonce)
    return Answer(said.text)


PROGRAMS: dict[str, Program] = {
    "probe launch": _launch,
    "probe holds": _holds,
    "compute-sanitizer": _sanitizer,
    "cuda-gdb": _debugger,
    "ncu": _ncu,
    "nsys": _nsys,
}
