"""CDI specifications: whether an engine reads those of a machine, and how it gets one it reads.

From 1.19.1 on the container toolkit writes CDI 0.7.0, which older engines refuse as a whole.
"""

from collections.abc import Iterator

from envbuild.advice.fixes.features import below, feature, release
from envbuild.host.access import Containers, knows_no_cdi
from envbuild.matrix.model.reference import EngineFeature, Reference
from envbuild.planner.ranges import numbers
from envbuild.values.finding import Step
from envbuild.values.host import CdiSpec, EngineFacts, Tool

GPU = "nvidia.com/gpu="
PLAIN = "no-additional-gids-for-device-nodes"
"""The feature flag with which newer toolkits write what older engines read."""

_FORM = "0.7.0"
_TOOLKIT = "nvidia-container-toolkit"
_REFRESH = "nvidia-cdi-refresh"
_SETTING = f"NVIDIA_CTK_CDI_GENERATE_FEATURE_FLAGS={PLAIN}"
_SETTINGS = f"/etc/{_TOOLKIT}/{_REFRESH}.env"


def unread(
    rows: Reference, engine: EngineFacts, specs: tuple[CdiSpec, ...]
) -> EngineFeature | None:
    """What an engine lacks to read any specification of the GPUs; None = it reads one, or no word.

    No word either of an engine that takes no CDI at all. Engines leave out a file that they
    cannot read, and take the devices of the others.
    """
    row = feature(rows, engine.name, f"cdi-{_FORM}")
    if "cdi" not in engine.access or knows_no_cdi(engine):
        return None
    if not below(release(engine), row.since) or any(d.startswith(GPU) for d in engine.devices):
        return None
    forms = [_form(spec) for spec in specs if any(d.startswith(GPU) for d in spec.devices)]
    return row if forms and all(map(_new, forms)) else None


def newest(specs: tuple[CdiSpec, ...]) -> str:
    """The newest form that a specification here has."""
    return max(filter(None, map(_form, specs)), key=numbers, default=_FORM)


def told(row: EngineFeature, engine: EngineFacts, specs: tuple[CdiSpec, ...]) -> str:
    """That an engine does not read them, in words."""
    return (
        f"{engine.name} {engine.version} does not read CDI {newest(specs)}, the form of the "
        f"specification here; {row.since} is the first that does"
    )


def readable(
    rows: Reference, here: Containers, engine: EngineFacts, row: EngineFeature
) -> tuple[Step, ...]:
    """The older form, or an engine that reads the new one."""
    newer = Step(
        why="or an engine that reads the new form",
        text=f"update {engine.name} to {row.since} or newer",
        check="docker info --format '{{.ServerVersion}}'"
        if engine.name == "docker"
        else f"{engine.name} --version",
    )
    return (*described(rows, here, engine), newer)


def plain_alone(rows: Reference, engine: EngineFacts) -> bool:
    """An engine is known to read the older form alone."""
    return below(release(engine), feature(rows, engine.name, f"cdi-{_FORM}").since)


def plain_reader(rows: Reference, engines: tuple[EngineFacts, ...]) -> EngineFacts | None:
    """The engine here that takes CDI, and its older form alone: what it reads, all others do."""
    able = (e for e in engines if e.answers and not knows_no_cdi(e))
    return next(
        (e for e in able if (e.name == "podman" or "cdi" in e.access) and plain_alone(rows, e)),
        None,
    )


def described(rows: Reference, here: Containers, engine: EngineFacts) -> Iterator[Step]:
    """Describe the GPUs, in the form that an engine reads, by the toolkit that is there by then."""
    plain = plain_alone(rows, engine) and _writes_new(rows, here)
    if plain and here.platform == "linux":
        yield from kept_plain(rows, engine)
        return
    flag = ("--feature-flag", PLAIN) if plain else ()
    old = f"; {_older(rows, engine)}" if plain else ""
    yield Step(
        why=f"describe the GPUs for CDI; again after a new driver or another MIG layout{old}",
        argv=("sudo", "nvidia-ctk", "cdi", "generate", *flag, "--output=/etc/cdi/nvidia.yaml"),
        check="nvidia-ctk cdi list: nvidia.com/gpu=all is among them",
    )


def kept_plain(rows: Reference, engine: EngineFacts) -> Iterator[Step]:
    """The older form, now and whenever the toolkit's own service writes the specification."""
    add = f"grep -qs {PLAIN} {_SETTINGS} || printf '%s\\n' {_SETTING} >> {_SETTINGS}"
    yield Step(
        why=f"{_older(rows, engine)}; a flag of one command would be gone at the next refresh",
        argv=("sudo", "sh", "-c", f"mkdir -p {_SETTINGS.rpartition('/')[0]} && {{ {add}; }}"),
        check=f"grep FEATURE_FLAGS {_SETTINGS}: {PLAIN}",
    )
    yield Step(
        why="write the specification with that",
        argv=("sudo", "systemctl", "restart", f"{_REFRESH}.service"),
        check=f"grep cdiVersion /var/run/cdi/nvidia.yaml: older than {_FORM}",
    )


def _older(rows: Reference, engine: EngineFacts) -> str:
    reads = feature(rows, engine.name, f"cdi-{_FORM}").since
    writes = feature(rows, _TOOLKIT, f"cdi-{_FORM}").since
    return f"{engine.name} below {reads} does not read what toolkits from {writes} on write"


def _writes_new(rows: Reference, here: Containers) -> bool:
    """The toolkit writes the newer form: it did, it is of such a release, or is yet to come."""
    if any(map(_new, map(_form, here.cdi))):
        return True
    version = release(here.toolkit)
    first = feature(rows, _TOOLKIT, f"cdi-{_FORM}").since
    return here.toolkit is None or (version is not None and not below(version, first))


def _form(spec: CdiSpec) -> str | None:
    return release(Tool(name="cdi", version=spec.version))


def _new(form: str | None) -> bool:
    return form is not None and numbers(form) >= numbers(_FORM)
