"""Whether the driver's kernel module runs: missing, refused, kept out, not built, not loaded."""

from collections.abc import Iterator

from envbuild.advice.fixes import driver as fixes
from envbuild.advice.fixes import modules, secure_boot
from envbuild.advice.fixes.driver import owner
from envbuild.advice.installing import installed, module_of, packages, right
from envbuild.advice.rows import where
from envbuild.advice.rules import Advice, Rule, advice, fit
from envbuild.advice.rules.fit import NO_GPU, SILENT, not_driven
from envbuild.advice.scene import Scene, table
from envbuild.advice.when import holds
from envbuild.matrix.load import load_reference
from envbuild.planner.table import cite
from envbuild.values.finding import Step
from envbuild.values.host import Config

_INSTALL = {
    "apt": "apt-get install -y",
    "dnf": "dnf install -y",
    "dnf5": "dnf install -y",
    "zypper": "zypper --non-interactive install",
    "pacman": "pacman -S --needed --noconfirm",
}
_KEPT_OUT = ("blacklist.nvidia", "install.nvidia")
_SEES = "nvidia-smi: the card"


def _here(scene: Scene) -> bool:
    """A Linux with a kernel of its own, whose driver does not answer for some card."""
    return scene.native and scene.host.inside_container is None and not scene.driver_works


def _absent(scene: Scene) -> bool:
    """Nothing of a driver is here."""
    return installed(scene) is None and module_of(scene) is None and not packages(scene)


def missing(scene: Scene) -> Iterator[Advice]:
    """Cards on the bus, and no driver at all."""
    held = {gpu.held_by for gpu in scene.host.gpus}
    if not _here(scene) or not scene.host.gpus or not _absent(scene) or "vfio-pci" in held:
        return
    fix = right(scene)
    names = " and ".join(dict.fromkeys(g.name or g.pci_id or "GPU" for g in scene.host.gpus))
    until = "; nouveau, the free driver, holds it until then" if "nouveau" in held else ""
    needs = f": {fix.says} drives it" if fix is not None else ""
    yield advice(
        "driver-missing",
        "error",
        f"no NVIDIA driver is on this machine for {names}{needs}{until}",
        why="A container takes the driver of its machine: nothing in an image replaces it.",
        steps=fix.steps if fix is not None else (_unknown(),),
        source=fix.source if fix is not None else "errors/torch-no-driver derived",
        explains=(*SILENT, *NO_GPU, "nouveau", "cuda-304"),
    )


def _unknown() -> Step:
    return Step(
        why="which driver it takes depends on the card, which is not known here",
        argv=("lspci", "-nn", "-d", "10de:"),
        check="its name: envbuild plan --gpu NAME says the driver",
    )


def nouveau(scene: Scene) -> Iterator[Advice]:
    """The free driver holds the card, while the vendor's is installed."""
    held = any(gpu.held_by == "nouveau" for gpu in scene.host.gpus)
    running = any(m.name == "nouveau" and m.loaded for m in scene.host.kernel.modules)
    module = module_of(scene)
    driven = module is not None and module.loaded
    if not _here(scene) or _absent(scene) or not (held or (running and not driven)):
        return
    yield advice(
        "nouveau",
        "error",
        "nouveau, the free driver of the kernel, holds the card",
        why="One driver holds a card: that of NVIDIA is installed and cannot have it.",
        steps=modules.without_nouveau(rpm=holds("rpm", scene)),
        source="errors/nouveau sourced",
        explains=(*SILENT, "module-not-loaded"),
    )


def refused(scene: Scene) -> Iterator[Advice]:
    """Secure Boot takes signed modules alone."""
    seen, module = scene.saw("secure-boot", "module-taints"), module_of(scene)
    on = scene.host.kernel.secure_boot
    waits = module is not None and not module.loaded and module.on_disk is not None
    built_here = waits and "/dkms/" in (module.path or "" if module is not None else "")
    told = seen is not None and seen.id == "secure-boot"
    if not _here(scene) or on is False or not (told or (on and waits and (built_here or seen))):
        return
    yield advice(
        "secure-boot",
        "error",
        "Secure Boot is on, and the driver's kernel module is signed by no key that this machine "
        "trusts: the kernel does not load it",
        why="Nothing in a container or toolkit changes that. " + (where(seen) if seen else ""),
        steps=(
            Step(
                why="first, that it is the cause",
                argv=("sudo", "modprobe", "nvidia"),
                check="it says: Key was rejected by service",
            ),
            *secure_boot.steps(scene.host.os.id),
        ),
        source="errors/secure-boot sourced",
        explains=(*SILENT, "module-taints", "module-not-loaded"),
    )


def not_loaded(scene: Scene) -> Iterator[Advice]:
    """The module is there for this kernel, and does not run."""
    module = module_of(scene)
    if not _here(scene) or module is None or module.loaded or module.on_disk is None:
        return
    if any(gpu.held_by == "vfio-pci" for gpu in scene.host.gpus):
        return
    files = [config.path for config in scene.host.configs if _keeps_out(config)]
    why = "modprobe says the reason: a refused signature, another driver that holds the card, or "
    why += "a card that this driver does not drive. The kernel log has it, too."
    steps = [modules.load(_SEES), _log()]
    if files:
        why = f"{files[0]} keeps it out."
        steps = [
            Step(
                why="this line keeps the module out",
                text=f"take nvidia out of {files[0]} (for /proc/cmdline: out of the start line of "
                "the boot loader)",
                check=f"grep nvidia {files[0]}: nothing, after the restart",
            ),
            modules.start_image(rpm=holds("rpm", scene)),
            modules.restart(_SEES),
        ]
    yield advice(
        "module-not-loaded",
        "error",
        f"the driver's kernel module {module.on_disk} is there for this kernel and does not run",
        why=why,
        steps=tuple(steps),
        source="errors/smi-failed sourced",
        explains=SILENT,
    )


def _keeps_out(config: Config) -> bool:
    listed = (config.values.get("modprobe.blacklist") or "").split(",")
    return "nvidia" in listed or any(name in dict(config.values) for name in _KEPT_OUT)


def _log() -> Step:
    return Step(
        why="the kernel says why: lines with NVRM, nvidia or nouveau",
        argv=("sudo", "dmesg"),
        check="a line that names the reason; give it to envbuild doctor --log",
    )


def not_built(scene: Scene) -> Iterator[Advice]:
    """Packages of a driver are here, and no module for the kernel that runs."""
    module, version = module_of(scene), installed(scene)
    there = module is not None and (module.loaded or module.on_disk)
    if not _here(scene) or there or scene.host.driver is not None or _absent(scene):
        return
    kernel = scene.host.os.kernel or "that runs"
    fix = right(scene)
    row = fix and fixes.package(load_reference(), scene.host.os, fix.branch, fix.module)
    needs, install = (row.needs, _INSTALL.get(row.manager, "")) if row else ("", "")
    dkms = any("dkms" in name for name in packages(scene))
    steps = modules.built(needs if install else "", install)
    if any(name.startswith("akmod") for name in packages(scene)):
        steps = modules.by_akmods()
    elif not dkms and fix is not None:
        steps = fix.steps
    yield advice(
        "module-not-built",
        "error",
        f"driver {version or ''} is installed, and has no kernel module for the kernel {kernel}",
        why="After an update of the kernel the module is built anew, with that kernel's headers; "
        "where it was not, or the machine was not restarted since, there is none.",
        steps=(
            Step(
                why="after an update the modules of the kernel that still runs may be gone: a "
                "restart is then enough",
                argv=("sudo", "systemctl", "reboot"),
                check=f"{_SEES}; else go on",
            ),
            *steps,
        ),
        source=fix.source if fix is not None else "errors/smi-failed sourced",
        explains=(*SILENT, "module-not-loaded"),
    )


def lost(scene: Scene) -> Iterator[Advice]:
    """In a container, a card that fell off the bus is its owner's to mend."""
    seen = scene.saw("fallen-off")
    if seen is None or scene.host.inside_container is None:
        return
    yield advice(
        "fallen-off",
        "error",
        "the card stopped answering on the PCI bus (Xid 79): power, heat, the slot or the card",
        why=f"No software in the image or container does that. {where(seen)}",
        steps=(owner("another machine or card: this one is lost until its power is cut"),),
        source="errors/fallen-off derived",
        explains=SILENT,
    )


def kept_for_a_guest(scene: Scene) -> Iterator[Advice]:
    """A card that is kept for a virtual machine is no fault."""
    held = [g for g in scene.host.gpus if g.held_by == "vfio-pci" and g.source == "pci"]
    if not held:
        return
    names = " and ".join(dict.fromkeys(g.name or g.pci_id or "GPU" for g in held))
    ids = scene.setting("vfio-pci.ids")
    yield advice(
        "card-for-a-guest",
        "info" if scene.saw(*SILENT) is None else "error",
        f"{names} is kept for a virtual machine (vfio-pci): this machine cannot use it meanwhile",
        why=f"The kernel's command line says so (vfio-pci.ids={ids})." if ids else "",
        steps=(modules.back_from_guest(),),
        source="errors/no-devices sourced",
        explains=SILENT,
    )


def not_held(scene: Scene) -> Iterator[Advice]:
    """A driver is here, only the bus shows a card, and nothing that was looked at says why."""
    version, cards = installed(scene), not_driven(scene)
    if not scene.native or scene.host.inside_container is not None or not version or not cards:
        return
    if scene.saw(*SILENT, "nvml-mismatch") is not None:
        return  # what was said has a reason of its own
    if any(True for rule in (*fit.REASONS, *_REASONS) for _ in rule(scene)):
        return
    row = table().capability(cards[0].cc)
    yield advice(
        "card-not-driven",
        "warn",
        f"driver {version} is here, but only the bus shows {cards[0].name or row.arch} "
        f"(cc {row.cc}): it may not hold it",
        why="Another driver (nouveau, vfio-pci) has it, or this one failed to start.",
        steps=(modules.who_holds(), _log()),
        source=cite(row, row.cc),
    )


def look_failed(scene: Scene) -> Iterator[Advice]:
    """Only we did not find the library: nvidia-smi, which is built with it, answers."""
    seen = scene.saw("nvml-not-found")
    if seen is None or seen.log != "nvml":
        return
    if scene.native and not scene.host.gpus and scene.host.inside_container is None:
        yield advice(
            "no-gpu",
            "info",
            "no NVIDIA card is on this machine, and no driver of one",
            why="Images can be planned and built here (envbuild plan --cc), and run elsewhere.",
            source="errors/nvml-not-found sourced",
            explains=("nvml-not-found", "smi-missing"),
        )
    if not scene.driver_works:
        return
    yield advice(
        "nvml-not-found",
        "info",
        "the driver answers by nvidia-smi; its library libnvidia-ml.so.1 was not found by itself",
        why="Programs that read the GPU's state (monitors, this one) want it; CUDA does not.",
        source="errors/nvml-not-found sourced",
    )


_REASONS: tuple[Rule, ...] = (
    missing,
    refused,
    nouveau,
    not_built,
    not_loaded,
    lost,
    kept_for_a_guest,
)
"""Why the driver does not run, or not for a card."""

RULES: tuple[Rule, ...] = (look_failed, *_REASONS, not_held)
