"""Runner and kernels with one thing broken each, run as the suites run them: what turns red?

`mutants/runner.yaml` lists them; one that survives is a check that cannot fail. Tests run a few and
judge those that were recorded; `script/mutate-certify` runs all of them.
"""

import re
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from envbuild import data
from envbuild.certify import probes, sessions
from envbuild.certify.judge import judge
from envbuild.certify.seen import Ran, Seen, Session
from envbuild.certify.steps import Bench, Runner, Work, run
from envbuild.certify.suites import SUITES
from envbuild.errors import EnvbuildError
from envbuild.values.certificate import Check
from envbuild.values.codec import dump, load, replace

HERE = Path(__file__).parent
# What the probe is made of: `PROBE` of script/build-probes, less what it does not list.
_NOT_PROBE = frozenset({"steps.c", "planted.c"})


class Mutant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One change; its fields are said at the top of `mutants/runner.yaml`."""

    name: str
    file: str
    old: str
    new: str
    suite: str
    red: tuple[str, ...]
    steps: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    gpu: bool = False

    @property
    def title(self) -> str:
        """How reports call it."""
        return f"{Path(self.file).name}: {self.name}"


class Outcome(msgspec.Struct, frozen=True):
    """What became of a mutant: what its steps printed, and the checks that must turn red.

    Attributes:
        verdicts: check to ``verdict: reason``.
        broken: why it could not be run at all; such a mutant proves nothing.
    """

    title: str
    ran: tuple[Ran, ...] = ()
    verdicts: dict[str, str] = msgspec.field(default_factory=dict)
    broken: str = ""

    @property
    def killed(self) -> bool:
        """Every check that it must turn red has lost its pass."""
        passed = [text for text in self.verdicts.values() if text.startswith("pass")]
        return bool(self.verdicts) and not passed and not self.broken

    @property
    def passing(self) -> bool:
        """Every one of these checks passed."""
        return bool(self.verdicts) and all(t.startswith("pass") for t in self.verdicts.values())


class Recording(msgspec.Struct, frozen=True):
    """What is kept of a machine: its unbroken run up to `smoke`, and what became of each mutant."""

    seen: msgspec.Raw
    outcomes: tuple[Outcome, ...]

    @classmethod
    def of(cls, seen: Seen, outcomes: Sequence[Outcome]) -> "Recording":
        """A recording, without what no check reads."""
        short = tuple(
            msgspec.structs.replace(one, ran=tuple(_short(ran) for ran in one.ran))
            for one in outcomes
        )
        return cls(msgspec.Raw(dump(seen)), short)

    def run(self) -> Seen:
        """The unbroken run."""
        return load(Seen, bytes(self.seen), "recording")


def mutants() -> tuple[Mutant, ...]:
    """All of them."""
    text = (HERE / "mutants" / "runner.yaml").read_bytes()
    return msgspec.yaml.decode(text, type=tuple[Mutant, ...])


def unbroken(of: Sequence[Mutant]) -> tuple[Mutant, ...]:
    """For each run that mutants ask for, the same with nothing changed: its checks must pass."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for one in of:
        groups.setdefault((one.suite, one.steps), []).extend(one.red)
    return tuple(
        Mutant("nothing is changed", " + ".join(steps) or suite, "", "", suite,
               tuple(dict.fromkeys(red)), steps)
        for (suite, steps), red in groups.items()
    )  # fmt: skip


class Range:
    """Where mutants are run: an engine with a GPU, a run on it that came through, a folder.

    Args:
        engine: what runs the steps.
        seen: a healthy run up to `smoke` on it.
        folder: for the benches.
        nvcc: compiles device code for this target, ``90``; empty where the driver is made.
    """

    def __init__(self, engine: Runner, seen: Seen, folder: Path, nvcc: str = "") -> None:
        self.engine, self.seen, self.folder, self.nvcc = engine, seen, folder, nvcc
        self.gpu = threading.Lock()

    def all(self, wanted: Sequence[Mutant], workers: int) -> Iterator[Outcome]:
        """Each mutant in turn on the GPU; what compiles runs beside it."""
        with ThreadPoolExecutor(workers) as pool:
            yield from pool.map(self.one, wanted)

    def one(self, mutant: Mutant) -> Outcome:
        """Make a mutant, run it, judge it; what cannot be run says why, and the others go on."""
        try:
            return self._one(mutant)
        except subprocess.CalledProcessError as e:
            return Outcome(mutant.title, broken=f"{e.cmd[0]}: {e.stderr[-300:]}")
        except (ValueError, EnvbuildError) as e:
            return Outcome(mutant.title, broken=str(e))

    def _one(self, mutant: Mutant) -> Outcome:
        bench = self._made(mutant)
        seen = replace(
            self.seen,
            asked=tuple(dict.fromkeys((*self.seen.asked, mutant.suite))),
            probes_at=bench.probe(),
            scratch_at=bench.out(),
        )
        seen = (
            self._smoke(bench, seen)
            if mutant.suite == "smoke"
            else self._suite(bench, seen, mutant)
        )
        ran = tuple(r for s in seen.sessions if _of(s, mutant.suite) for r in s.steps)
        checks = verdicts(seen, mutant.suite)
        return Outcome(mutant.title, ran, {name: checks[name] for name in mutant.red})

    def _smoke(self, bench: Bench, seen: Seen) -> Seen:
        """The image's compiler makes the kernel, where there is one, and it is run."""
        own = seen.step("compile")
        code = None
        if own is not None and own.ok:
            made = sessions.compile_nvcc(bench, seen.terms, "75", [], seen.nonce, cuobjdump=False)
            run(bench, "compile", made[:1])
            code = "image.fatbin"
        seen = replace(seen, sessions=tuple(s for s in seen.sessions if s.name != "reference"))
        work = Work("work", tuple(sessions.work(bench, seen.nonce, code, seen.choice.gpu)))
        return self._with(seen, self._run(bench, work, seen))

    def _suite(self, bench: Bench, seen: Seen, mutant: Mutant) -> Seen:
        """Its sessions, each with the steps that the mutant asks for."""
        while work := SUITES[mutant.suite].next_work(bench, seen):
            steps = [s for s in work.steps if not mutant.steps or s.name in mutant.steps]
            session = Session(name=work.name, rc=0)
            if steps:
                session = self._run(bench, work._replace(steps=tuple(steps)), seen)
            seen = self._with(seen, session)
        return seen

    def _run(self, bench: Bench, work: Work, seen: Seen) -> Session:
        if not work.gpu:
            return run(bench, work.name, work.steps)
        with self.gpu:
            return run(bench, work.name, work.steps, access=seen.choice.access)

    def _with(self, seen: Seen, session: Session) -> Seen:
        others = tuple(s for s in seen.sessions if s.name != session.name)
        return replace(seen, sessions=(*others, session))

    def _made(self, mutant: Mutant) -> Bench:
        """A bench with its probes, one file of them changed and what is made of it made anew."""
        home = self.folder / "".join(c if c.isalnum() else "-" for c in mutant.title)
        bench = Bench(self.engine, self.seen.image.ref, home / "probes", home / "scratch")
        probes.stage(bench.probes, "x86_64")
        (bench.scratch / "cut").mkdir(parents=True)
        if not mutant.old:
            return bench
        source = home / "kernels"
        ignored = shutil.ignore_patterns("prebuilt", "frameworks")
        shutil.copytree(data.folder("kernels"), source, ignore=ignored)
        path = source / mutant.file
        text = path.read_text(encoding="utf-8")
        if text.count(mutant.old) != 1:
            msg = f"{mutant.old!r} stands there {text.count(mutant.old)} times"
            raise ValueError(msg)
        path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
        if path.suffix == ".c":
            parts = [p for p in sorted((source / "runner").glob("*.c")) if p.name not in _NOT_PROBE]
            _call(
                "gcc",
                "-std=gnu11",
                "-O1",
                "-w",
                "-o",
                bench.probes / "probe",
                *parts,
                "-ldl",
                "-lm",
            )
        else:
            shutil.copyfile(path, bench.probes / mutant.file)
        for name in mutant.code:
            target = f"arch=compute_{self.nvcc},code=sm_{self.nvcc}"
            out = bench.probes / f"{name}.fatbin"
            _call("nvcc", "-fatbin", "-gencode", target, "-o", out, source / f"{name}.cu")
        return bench


def _short(ran: Ran) -> Ran:
    """Without the sweep over sizes and the device's own time."""
    lines = [line for line in ran.out.splitlines(keepends=True) if "l2.sweep." not in line]
    return replace(ran, out=re.sub(r',"ns":\[[^]]*\]', "", "".join(lines)))


def again(seen: Seen, mutant: Mutant, outcome: Outcome) -> Outcome:
    """What was recorded of a mutant, judged anew."""
    sessions_ = {"smoke": "work"}
    name = sessions_.get(mutant.suite, mutant.suite)
    kept = tuple(s for s in seen.sessions if not _of(s, mutant.suite))
    # Each had a bench of its own, whose folder its answers name.
    planted = re.search(r'"path":"([^"]*)/planted/', "".join(ran.out for ran in outcome.ran))
    now = replace(
        seen,
        probes_at=planted[1] if planted else seen.probes_at,
        asked=tuple(dict.fromkeys((*seen.asked, mutant.suite))),
        sessions=(*kept, Session(name=name, rc=0, steps=outcome.ran)),
    )
    checks = verdicts(now, mutant.suite)
    found = {name: checks[name] for name in mutant.red}
    return Outcome(outcome.title, outcome.ran, found)


def verdicts(seen: Seen, suite: str) -> dict[str, str]:
    """Check to its verdict and reason."""
    found = judge(seen, (suite,)).suites
    checks: list[Check] = [c for one in found if one.name == suite for c in one.checks]
    return {c.id: f"{c.verdict}: {c.reason}" if c.reason else c.verdict for c in checks}


def _of(session: Session, suite: str) -> bool:
    own = {"smoke": {"work"}}.get(suite, {suite})
    return session.name.partition(".")[0] in own


def _call(*argv: str | Path) -> None:
    subprocess.run(argv, check=True, capture_output=True, text=True)
