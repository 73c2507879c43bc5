"""CDI specification files: which devices a container may be given by name."""

import json
from collections.abc import Iterable
from typing import Any

from envbuild.host.look import Found, Look, clean
from envbuild.values.host import CdiSpec, Probe

FOLDERS = ("/etc/cdi", "/var/run/cdi")
_SIZE = 1 << 20
_MOST = 512


def probe(look: Look) -> Found[tuple[CdiSpec, ...]]:
    """The specifications in the usual folders; one that is broken is a fact."""
    return read(look, FOLDERS)


def read(look: Look, folders: Iterable[str]) -> Found[tuple[CdiSpec, ...]]:
    """The specifications in these folders."""
    specs, failed = [], []
    for folder in folders:
        for name in look.names(folder):
            if not name.endswith((".json", ".yaml", ".yml")):
                continue
            path = f"{folder}/{name}"
            spec = parse(path, look.data(path, _SIZE + 1) or b"")
            if isinstance(spec, str):
                failed.append(Probe(name="cdi", ok=False, says=f"{path}: {spec}"))
            else:
                specs.append(spec)
    return tuple(specs), tuple(failed)


def parse(path: str, data: bytes) -> CdiSpec | str:
    """One specification; or in words why it is none. Devices are named ``nvidia.com/gpu=all``."""
    if not data:
        return "empty, or not readable"
    if len(data) > _SIZE:
        return "larger than 1 MiB"
    content = _load(path, data)
    if not isinstance(content, dict) or not isinstance(content.get("kind"), str):
        return "not a CDI specification"
    kind = clean(content["kind"])[:200]
    devices = content.get("devices")
    names = [
        f"{kind}={clean(str(device['name']))[:200]}"
        for device in (devices if isinstance(devices, list) else [])[:_MOST]
        if isinstance(device, dict) and "name" in device
    ]
    version = content.get("cdiVersion")
    text = clean(version)[:20] if isinstance(version, str) else None
    return CdiSpec(path=path, version=text, devices=tuple(names))


def _load(path: str, data: bytes) -> Any:  # noqa: ANN401
    if path.endswith(".json"):
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            return None
    import yaml

    try:
        return yaml.load(data, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
