"""WSL 2: the one driver is that of Windows, and nothing in Linux may stand before it."""

import re
from collections.abc import Iterator

from envbuild.advice.fixes import windows, wsl
from envbuild.advice.installing import is_other, packages, release
from envbuild.advice.rows import where
from envbuild.advice.rules import Advice, Rule, advice, wsl_engines, wsl_unseen
from envbuild.advice.rules.fit import SILENT
from envbuild.advice.rules.wsl_engines import cited, in_linux, need
from envbuild.advice.scene import Scene
from envbuild.matrix.load import load
from envbuild.planner.ranges import numbers
from envbuild.values.finding import Step
from envbuild.values.host import Tool

_GONE = (*SILENT, "wsl-blocked", "wsl-init-error", "wsl-libcuda-missing", "cuda-304", "dxcore",
         "wsl-no-card")  # fmt: skip
"""What programs in WSL say where Windows' GPU does not reach them."""


def first_generation(scene: Scene) -> Iterator[Advice]:
    """WSL 1 has no Linux kernel, and no way to a GPU."""
    around = scene.host.windows
    old = [name for name, generation in (around.distros if around else ()) if generation == "1"]
    here = scene.host.wsl is not None and scene.host.wsl.generation == 1
    if not here and not (old and scene.host.platform == "windows"):
        return
    own = scene.host.wsl.distro if scene.host.wsl is not None else None
    name = own or (old[0] if old else "NAME")
    name = name if re.fullmatch(r"\w[\w.-]*", name, re.ASCII) else "NAME"
    yield advice(
        "wsl-1",
        "error" if here else "warn",
        f"{'this is' if here else name + ' is a distribution of'} WSL 1, which has no way to a GPU",
        why="Only WSL 2 has a Linux kernel, and with it the way to the GPU.",
        steps=(windows.update(), windows.second_generation(name)),
        source=cited("kernel"),
        explains=_GONE,
    )


def old_windows(scene: Scene) -> Iterator[Advice]:
    """A Windows that lends no GPU to Linux."""
    row, build = need("windows-11"), scene.host.windows and scene.host.windows.build
    parts = (build or "").split(".")
    # Windows Server counts its builds on its own.
    server = "server" in ((scene.host.windows and scene.host.windows.name) or "").lower()
    if server or len(parts) < 3 or not parts[2].isdecimal() or int(parts[2]) >= int(row.least or 0):
        return
    yield advice(
        "wsl-windows-too-old",
        "error",
        f"Windows build {parts[2]} gives WSL no GPU: {row.least} is the first that does",
        steps=(windows.new_windows(), windows.update()),
        source=cited("windows-11"),
        explains=(*_GONE, "wsl-windows-driver", "wsl-no-dxg"),
    )


def switched_off(scene: Scene) -> Iterator[Advice]:
    """The GPU is switched off for Linux in a settings file."""
    for config in scene.host.configs if scene.wsl2 else ():
        for name in need("gpu").value.split():
            if (config.values.get(name) or "").lower() != "false":
                continue
            yield advice(
                "wsl-gpu-off",
                "error",
                f"{config.path} switches the GPU off for Linux ({name} = false)",
                steps=(
                    Step(
                        why="the GPU is lent unless a line says no",
                        text=f"take the line {name.partition('.')[2]} = false out of {config.path}",
                        check=f"grep -i gpu -A1 {config.path}: no false",
                    ),
                    windows.restart_wsl("WSL reads its settings when it starts"),
                ),
                source=cited("gpu"),
                explains=(*_GONE, "wsl-no-dxg", "wsl-windows-driver"),
            )


def no_way(scene: Scene) -> Iterator[Advice]:
    """Without /dev/dxg nothing in Linux reaches Windows' driver."""
    if not in_linux(scene) or scene.host.wsl is None or scene.host.wsl.dxg is not False:
        return
    kernel = scene.setting("wsl2.kernel")
    own = f": .wslconfig names a kernel of its own ({kernel})" if kernel else ""
    yield advice(
        "wsl-no-dxg",
        "error",
        f"/dev/dxg, the way to the GPU, is not there{own}",
        why="The kernel of WSL brings it; an old one, or one of your own, may not.",
        steps=(
            *((windows.own_kernel(),) if kernel else ()),
            windows.update(),
            windows.restart_wsl("the new kernel starts"),
        ),
        source=cited("kernel"),
        explains=(*_GONE, "wsl-windows-driver"),
    )


def linux_driver(scene: Scene) -> Iterator[Advice]:
    """Packages of a Linux driver, or their files, stand before those of Windows."""
    if not in_linux(scene):
        return
    found, first = packages(scene), _first(scene)
    own = first is None or (first.path or "").startswith("/usr/lib/wsl/")
    hides = not own and first is not None and not is_other(first.path)
    if not (found or hides):
        return
    broken = hides or bool(scene.smi) or scene.saw(*_GONE) is not None
    what = ", ".join(found[:4]) + (" ..." if len(found) > 4 else "")
    says = f"packages of a Linux driver are installed in WSL ({what})" if found else (
        "a Linux driver was installed in WSL without a package"
    )  # fmt: skip
    if hides and first is not None:
        says += f": programs get {first.path} instead of the Windows driver's libcuda"
    lets, drivers, others = map(
        need, ("container-toolkit-packages", "linux-driver-packages", "not-driver-packages")
    )
    repository = next(r for r in load().repositories if r.platform == "wsl2")
    steps = (wsl.keep_out(repository.never, lets), *wsl.purge(drivers, others))
    yield advice(
        "wsl-linux-driver",
        "error" if broken else "warn",
        says,
        why="The driver of Windows is the only driver: its libraries are in /usr/lib/wsl/lib. The "
        "packages cuda, cuda-X-Y, cuda-drivers and the system's own nvidia-cuda-toolkit bring "
        "another one in.",
        steps=(
            *(steps if found else (_by_hand(first),)),
            windows.restart_wsl("the loader's list is made anew"),
        ),
        source=cited("windows-driver"),
        explains=(
            *(*_GONE, "nvml-mismatch", "nouveau", "driver-dragged-in", "cuda-803", "cuda-804"),
            *("cuda-35", "torch-driver-too-old"),
        ),
    )


def _first(scene: Scene) -> Tool | None:
    """The libcuda that programs get."""
    searched = (t for t in scene.host.libraries if t.source != "folder")
    return next((tool for tool in searched if tool.name == "libcuda.so.1"), None)


def _by_hand(first: Tool | None) -> Step:
    path = first.path if first is not None else "it"
    return Step(
        why="the vendor's installer has its own way out; WSL's files lie elsewhere and stay",
        text=f"sudo nvidia-uninstall; where there is none, move {path} away, then sudo ldconfig",
        check="ldconfig -p | grep libcuda.so.1: /usr/lib/wsl/lib",
    )


def driver_model(scene: Scene) -> Iterator[Advice]:
    """A card in TCC mode does not reach WSL."""
    row = need("driver-model")
    held = [g for g in scene.host.gpus if (g.driver_model or "").upper() == row.value]
    if not held or scene.host.platform not in {"wsl2", "windows"}:
        return
    seen = scene.saw("wsl-blocked")
    inside = scene.wsl2 or seen is not None
    yield advice(
        "wsl-driver-model",
        "error" if inside else "watch",
        f"{held[0].name or 'the card'} is in {row.value} mode in Windows: WSL does not see it",
        why=f"{row.says[:1].upper()}{row.says[1:]}. No driver in Linux helps. "
        + (where(seen) if seen else ""),
        steps=(windows.driver_model(), windows.restart_wsl("the GPU is taken up at the start")),
        source=cited("driver-model"),
        explains=(*_GONE, "wsl-windows-driver"),
    )


def windows_driver(scene: Scene) -> Iterator[Advice]:
    """No driver of Windows that serves WSL, or one from before WSL 2."""
    host, row = scene.host, need("windows-driver")
    version = release(host.windows.driver if host.windows else None) or release(
        host.driver.version if host.driver is not None else None
    )
    page = windows.driver(need("windows-driver-page"), row.least, None)
    again = windows.restart_wsl("the new driver is taken up at the start")
    if scene.wsl2 and version and numbers(version) < numbers(row.least or "0"):
        yield advice(
            "wsl-windows-driver",
            "error",
            f"the Windows driver {version} is older than WSL 2 needs: R{row.least} is the first",
            why=f"{row.says[:1].upper()}{row.says[1:]}.",
            steps=(page, again),
            source=cited("windows-driver"),
            explains=_GONE,
        )
        return
    if host.platform == "windows" and scene.saw("nvml-not-found") and not scene.driver_works:
        yield advice(
            "wsl-windows-driver",
            "error",
            "no NVIDIA driver of Windows answers here",
            why=f"{row.says[:1].upper()}{row.says[1:]}.",
            steps=(page,),
            source=cited("windows-driver"),
            explains=_GONE,
        )
        return
    there = any((t.path or "").startswith("/usr/lib/wsl/") for t in host.libraries)
    if not in_linux(scene) or host.gpus or there or host.wsl is None or not host.wsl.dxg:
        return
    if version:
        says = (
            f"Windows has driver {version}, and WSL holds none of its files: WSL runs since before"
        )
        steps: tuple[Step, ...] = (again, windows.update())
    else:
        says = "no NVIDIA driver of Windows reaches WSL: /usr/lib/wsl/lib holds no CUDA"
        steps = (page, again)
    yield advice(
        "wsl-windows-driver",
        "error",
        says,
        why=f"{row.says[:1].upper()}{row.says[1:]}.",
        steps=steps,
        source=cited("windows-driver"),
        explains=_GONE,
    )


def old_kernel(scene: Scene) -> Iterator[Advice]:
    """A kernel of WSL from before GPUs, or from before what is recommended."""
    row, kernel = need("kernel"), scene.host.os.kernel or ""
    version = release(kernel.partition("-")[0])
    if not scene.wsl2 or "microsoft" not in kernel.lower() or version is None:
        return
    if numbers(version) >= numbers(row.value or "0"):
        return
    seen = scene.saw("wsl-blocked", "wsl-init-error")
    never = numbers(version) < numbers(row.least or "0")
    yield advice(
        "wsl-kernel-old",
        "error" if never or seen else "watch",
        f"the kernel of WSL is {version}; {row.value} or newer is recommended",
        why=(f"Below {row.least} there is no GPU at all. " if never else "")
        + (where(seen) if seen else ""),
        steps=(windows.update(), windows.restart_wsl("the new kernel starts")),
        source=cited("kernel"),
        explains=("wsl-blocked", "wsl-init-error", *(_GONE if never else ())),
    )


def card(scene: Scene) -> Iterator[Advice]:
    """A card that WSL 2 does not serve."""
    for _, one in scene.cards if scene.wsl2 else ():
        row = scene.capability(one.cc)
        if row is None or row.wsl not in {"no", "unsupported"}:
            continue
        never = row.wsl == "no"
        yield advice(
            "wsl-card",
            "error" if never else "watch",
            f"{one.name or row.arch} (cc {one.cc}) "
            + ("does not work in WSL 2" if never else "may work in WSL 2, and is not supported"),
            why=need("cards").says,
            steps=(
                Step(
                    why="Linux itself drives it",
                    text="use this card under Linux, or another one in WSL",
                    check="nvidia-smi: the card",
                ),
            ),
            source=cited("cards"),
            explains=(*_GONE, "wsl-windows-driver") if never else (),
        )
        return


RULES: tuple[Rule, ...] = (
    first_generation,
    old_windows,
    switched_off,
    no_way,
    driver_model,
    linux_driver,
    windows_driver,
    old_kernel,
    card,
    wsl_unseen.no_card,
    *wsl_engines.RULES,
)
