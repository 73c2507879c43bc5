"""Look at this machine: every probe side by side, each one's failure a fact of the result."""

import functools
import platform
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from envbuild.host import cdi, containers, gpu, jetson, toolchain, wsl
from envbuild.host import os as system_probe
from envbuild.host.look import Found, Look, Runner, clean, here, run_limited, run_nothing
from envbuild.values.codec import Pairs
from envbuild.values.host import Host, Os, Probe

if TYPE_CHECKING:
    from concurrent.futures import Executor

T = TypeVar("T")

_ENV = re.compile(r"NVIDIA_\w+|CUDA\w+|NVCC_\w+|TORCH_CUDA_ARCH_LIST|LD_LIBRARY_PATH")
# NVIDIA_API_KEY and its like change nothing about CUDA and belong to the user alone.
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CRED|AUTH")


def detect(
    root: Path = Path("/"),
    *,
    environ: Mapping[str, str] | None = None,
    runner: Runner | None = None,
    system: str | None = None,
) -> Host:
    """What the machine below ``root`` is; never raises and writes nothing.

    Args:
        root: its file system; commands of another root than ``/`` are not run.
        environ: environment variables, None = ours.
        runner: runs commands, None = this machine's, within two seconds each.
        system: ``Linux`` or ``Windows``, None = this one.
    """
    look = here(environ)
    if root != look.root or runner or system:
        own = run_limited if root == look.root else run_nothing
        look = Look(root, look.environ, system or platform.system(), runner or own)
    return _host(look)


@functools.cache
def this_machine() -> Host:
    """`detect` of this machine, once a process: stages of one command see one host."""
    return detect()


def _host(look: Look) -> Host:
    from concurrent.futures import ThreadPoolExecutor

    # Slow probes wait for processes, so threads are enough to let them wait together.
    with ThreadPoolExecutor(max_workers=6) as pool:
        asked = _Asked(pool)
        board = asked.ask("jetson", lambda: jetson.probe(look))()
        specs = asked.ask_found("cdi", lambda: cdi.probe(look))() or ()
        gpus_of = asked.ask_found("gpu", lambda: gpu.probe(look, board))
        engines_of = asked.ask("engines", lambda: containers.engines(look, specs))
        container_toolkit_of = asked.ask("toolkit", lambda: containers.container_toolkit(look))
        tools_of = asked.ask("toolchain", lambda: toolchain.probe(look))
        wsl_of = asked.ask("wsl", lambda: wsl.probe(look))
        os_of = asked.ask("os", lambda: system_probe.probe(look))
        inside_of = asked.ask("container", lambda: system_probe.inside(look))
        gpus, driver = gpus_of() or ((), None)
        compilers, toolkits = tools_of() or ((), ())
        in_wsl = wsl_of()
        return Host(
            gpus=gpus,
            driver=driver,
            os=os_of() or Os(),
            platform=_platform(look, in_wsl.generation if in_wsl else 0, board is not None),
            wsl=in_wsl,
            jetson=board,
            inside_container=inside_of(),
            engines=engines_of() or (),
            container_toolkit=container_toolkit_of(),
            cdi=specs,
            toolkits=toolkits,
            compilers=compilers,
            python=system_probe.python(look),
            env=environment(look.environ),
            # Fields are read top down: by here every probe has answered.
            probes=tuple(asked.probes),
        )


class _Asked:
    """Probes at work side by side; reading an answer waits for it and collects what failed."""

    def __init__(self, pool: "Executor") -> None:
        self._pool = pool
        self.probes: list[Probe] = []

    def ask(self, name: str, probe: Callable[[], T]) -> Callable[[], T | None]:
        """Start a probe that gives a value only."""
        return self.ask_found(name, lambda: (probe(), ()))

    def ask_found(self, name: str, probe: Callable[[], Found[T]]) -> Callable[[], T | None]:
        """Start a probe that gives a value and facts about itself."""
        future = self._pool.submit(probe)

        def answer() -> T | None:
            # A probe that fails in a way nobody thought of costs its own fact, never the others.
            try:
                value, probes = future.result()
            except Exception as e:
                text = clean(f"{type(e).__name__}: {e}")[:300]
                self.probes.append(Probe(name=name, ok=False, says=text))
                return None
            self.probes += probes
            return value

        return answer


def _platform(look: Look, generation: int, is_jetson: bool) -> str:
    if generation:
        return f"wsl{generation}"
    return "jetson" if is_jetson else look.system.lower()


def environment(environ: Mapping[str, str]) -> Pairs:
    """The variables that change how CUDA behaves or builds, sorted, without anything secret."""
    return Pairs(
        tuple(
            (name, clean(environ[name])[:2000])
            for name in sorted(environ)
            if _ENV.fullmatch(name) and not _SECRET.search(name)
        )
    )
