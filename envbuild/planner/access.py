"""How the GPU comes into a container: flags of each engine, and what each way does to an image."""

from envbuild.host.access import ACCESS, gpu_flags
from envbuild.matrix.model import Injection
from envbuild.planner.ranges import numbers
from envbuild.planner.table import Table, remember
from envbuild.planner.target import Target
from envbuild.values.plan import RunFlags


def run_flags(target: Target) -> RunFlags:
    """Flags for the access mode of each engine of the host, else for the planned one."""
    return RunFlags(
        docker=gpu_flags("docker", _mode(target, "docker")),
        podman=gpu_flags("podman", _mode(target, "podman")),
        apptainer=("--nv",),
    )


def _mode(target: Target, engine: str) -> str:
    mode = dict(target.engine_access).get(engine, target.access)
    return mode if mode in ACCESS[engine] else "cdi"


def ways(table: Table, target: Target) -> tuple[Injection, ...]:
    """What may happen to an image on this machine, each once: one row where all is known.

    Nobody is assumed to run a container toolkit with published holes that was not seen.
    """
    modes = frozenset(mode for _, mode in target.engine_access)
    key = ("ways", modes, target.docker, target.container_toolkit, target.platform)
    known = table.memo.get(key)
    if not isinstance(known, tuple):
        known = _ways(table, target, modes)
        remember(table, key, known)
    return known


def _ways(table: Table, target: Target, modes: frozenset[str]) -> tuple[Injection, ...]:
    platform = {"wsl2": "wsl2", "linux": "", "sbsa": ""}.get(target.platform, "jetson")
    every = table.matrices.injections
    own = {row.access for row in every if row.platform == platform}
    found: dict[tuple[str, str], list[Injection]] = {}
    for row in every:
        here = row.platform == (platform if row.access in own else "")
        if not here or (modes and row.access not in modes) or row.mode == "refused":
            continue
        if _later(row.engine_since, target.docker):
            continue
        group = found.setdefault((row.access, row.engine_since), [])
        if target.container_toolkit is None:
            group += [] if row.outdated else [row]
        elif not _later(row.toolkit_since, target.container_toolkit):
            group[:] = [row]
    rows = [row for group in found.values() for row in group]
    unlike = {(row.reads_require, row.compat, row.listed_from): row for row in reversed(rows)}
    return tuple(reversed(unlike.values()))


def _later(since: str, version: str | None) -> bool:
    return version is not None and numbers(since) > numbers(version)
