"""``nvidia-smi``, asked when NVML does not answer (Windows driver seen from WSL, no library)."""

import csv
import re

from envbuild.host.look import Found, Look, says, version_in
from envbuild.host.nvml import Answer
from envbuild.io.proc import Completed
from envbuild.values.codec import replace
from envbuild.values.host import Driver, Gpu, Mig, Probe

_WSL = (
    "/usr/lib/wsl/lib/nvidia-smi",
    "/mnt/c/Windows/System32/nvidia-smi.exe",
    "/mnt/c/Program Files/NVIDIA Corporation/NVSMI/nvidia-smi.exe",
)
_WINDOWS = (
    "C:/Windows/System32/nvidia-smi.exe",
    "C:/Program Files/NVIDIA Corporation/NVSMI/nvidia-smi.exe",
)
# What ``-q`` calls a field, below which heading, and the words it has for what we record.
_DETAILS = (
    ("compute_mode", "", "Compute Mode"),
    ("driver_model", "Driver Model", "Current"),
    ("virtual", "GPU Virtualization Mode", "Virtualization Mode"),
    ("licence", "vGPU Software Licensed Product", "License Status"),
    ("fabric", "Fabric", "State"),
)
_WORDS = {"exclusive_process": "exclusive-process", "pass-through": "passthrough"}
_WORDS |= {"in progress": "in-progress", "not started": "not-started"}
# Drivers before R510 do not know compute_cap, those before R450 not MIG: ask for less and less.
_FIELDS = ("name", "uuid", "memory.total", "pci.bus_id", "pci.device_id", "driver_version")
_QUERIES = (
    (*_FIELDS, "compute_cap", "mig.mode.current"),
    (*_FIELDS, "mig.mode.current"),
    _FIELDS,
)


def probe(look: Look) -> Found[Answer | None]:
    """GPUs and driver as ``nvidia-smi`` prints them; None where none answers."""
    failed: list[Probe] = []
    for program in programs(look):
        done = _query(look, program)
        gpus = parse_query(done.out) if done.rc == 0 else ()
        if not gpus:
            failed.append(Probe(name="nvidia-smi", ok=False, says=f"{program}: {says(done)}"))
            if done.timed_out:
                break
            continue
        banner = look.run(program)
        driver = parse_banner(banner.out)
        version = done.out.partition("\n")[0].split(",")[5:6]
        if driver.version is None and version:
            driver = replace(driver, version=version_in(version[0]))
        if any(gpu.mig and gpu.mig.enabled for gpu in gpus):
            gpus = with_instances(gpus, look.run(program, "-L").out)
        gpus = with_details(gpus, look.run(program, "-q").out)
        worked = Probe(name="nvidia-smi", ok=True, says=program)
        return Answer(driver=driver, gpus=gpus), (worked, *failed)
    return None, tuple(failed)


def programs(look: Look) -> tuple[str, ...]:
    """Every ``nvidia-smi`` that may be here, best first."""
    if look.system == "Windows":
        return look.find("nvidia-smi.exe", *_WINDOWS)
    on_wsl = look.exists("/dev/dxg") or look.exists("/usr/lib/wsl")
    return look.find("nvidia-smi", *(_WSL if on_wsl else ()))


def _query(look: Look, program: str) -> Completed:
    done = Completed((program,), 1, "", "", False, 0.0)
    for fields in _QUERIES:
        done = look.run(program, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits")
        if "not a valid field" not in done.out + done.err:
            break
    return done


def parse_query(text: str) -> tuple[Gpu, ...]:
    """The rows of ``--query-gpu``; columns are told by their order in the three queries.

    >>> parse_query("Tesla T4, GPU-1, 15360, 00000000:00:1E.0, 0x1EB810DE, 470.82.01")[0].pci_id
    '10de:1eb8'
    """
    gpus: list[Gpu] = []
    try:
        rows = list(csv.reader(text.splitlines(), skipinitialspace=True))
    except csv.Error:
        return ()
    for row in rows:
        fields = next((q for q in _QUERIES if len(q) == len(row)), None)
        if fields is None:
            continue
        known = {k: v.strip() for k, v in zip(fields, row, strict=True) if _known(v)}
        # A message with as many commas is no row; a Jetson's row has neither address nor memory.
        if "name" not in known or not version_in(known.get("driver_version", "")):
            continue
        uuid = known.get("uuid", "")
        cc = re.fullmatch(r"\d{1,2}\.\d", known.get("compute_cap", ""), re.ASCII)
        memory = re.fullmatch(r"\d{1,9}", known.get("memory.total", ""), re.ASCII)
        device = re.fullmatch(r"0x([0-9A-Fa-f]{4})10DE", known.get("pci.device_id", ""))
        mode = known.get("mig.mode.current")
        gpus.append(
            Gpu(
                name=known.get("name"),
                uuid=uuid if uuid.startswith("GPU-") else None,
                cc=cc[0] if cc else None,
                memory_mib=int(memory[0]) if memory else None,
                mig=Mig(enabled=mode == "Enabled") if mode in {"Enabled", "Disabled"} else None,
                pci_bus=known.get("pci.bus_id"),
                pci_id=f"10de:{device[1].lower()}" if device else None,
                source="nvidia-smi",
            )
        )
    return tuple(gpus)


def _known(value: str) -> bool:
    # "[N/A]", "[Not Supported]", "[Unknown Error]", "[GPU requires reset]"
    return bool(value.strip()) and value.strip()[0] != "[" and value.strip() != "N/A"


def parse_banner(text: str) -> Driver:
    """Driver and CUDA level from the header; R610 and later say KMD and CUDA UMD version."""
    return Driver(
        version=version_in(text, r"(?:Driver|KMD) Version\s*:\s*"),
        cuda=version_in(text, r"CUDA (?:UMD )?Version\s*:\s*"),
        source="nvidia-smi",
    )


def with_instances(gpus: tuple[Gpu, ...], listing: str) -> tuple[Gpu, ...]:
    """The GPUs with the MIG instances that ``nvidia-smi -L`` lists below each."""
    instances: dict[str, list[str]] = {}
    below: list[str] = []
    for line in listing.splitlines():
        match = re.search(r"\(UUID: ((?:GPU|MIG)-[\w/-]{1,80})\)", line, re.ASCII)
        if match and match[1].startswith("GPU-"):
            below = instances.setdefault(match[1], [])
        elif match:
            below.append(match[1])
    return tuple(
        replace(gpu, mig=Mig(enabled=True, instances=tuple(instances.get(gpu.uuid or "", ()))))
        if gpu.mig and gpu.mig.enabled
        else gpu
        for gpu in gpus
    )


def with_details(gpus: tuple[Gpu, ...], report: str) -> tuple[Gpu, ...]:
    """The GPUs with modes and licence as the long report ``nvidia-smi -q`` has them.

    Serial numbers and process names stand in it too and are passed over.
    """
    found = parse_report(report)
    if len(found) != len(gpus):
        return gpus
    return tuple(replace(gpu, **_details(fields)) for gpu, fields in zip(gpus, found, strict=True))


def parse_report(text: str) -> list[dict[tuple[str, str], str]]:
    """``(heading, field) -> value`` of each GPU; a field right below the GPU has no heading."""
    found: list[dict[tuple[str, str], str]] = []
    heading, level = "", 0
    for line in text.splitlines():
        if re.match(r"GPU [0-9A-Fa-f]{4,8}:", line):
            found.append({})
            heading, level = "", 0
            continue
        match = re.match(r"( +)(\S.{0,80}?) *(?:: *(.{0,200}))?$", line)
        if match is None or not found:
            continue
        indent, name, value = len(match[1]), match[2], match[3]
        if value is None:
            heading, level = name, indent
        else:
            found[-1].setdefault((heading if indent > level else "", name), value.strip())
    return found


def _details(fields: dict[tuple[str, str], str]) -> dict[str, object]:
    texts = {
        name: fields[heading, field].lower()
        for name, heading, field in _DETAILS
        if _known(fields.get((heading, field), ""))
    }
    details: dict[str, object] = {
        name: _WORDS.get(text, text).partition(" (expiry")[0][:60] for name, text in texts.items()
    }
    mode = fields.get(("", "Persistence Mode"))
    if mode in {"Enabled", "Disabled"}:
        details["persistence"] = mode == "Enabled"
    return details
