"""CDI specification files: which devices a container may be given by name."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from envbuild.host.look import Found, Look, clean
from envbuild.values.codec import Pairs, replace
from envbuild.values.host import CdiSpec, Probe

FOLDERS = ("/etc/cdi", "/var/run/cdi")
_SIZE = 1 << 20
_MOST = 512
_FILES = 64


def probe(look: Look) -> Found[tuple[CdiSpec, ...]]:
    """The specifications in the usual folders; one that is broken is a fact."""
    return read(look, FOLDERS)


def read(look: Look, folders: Iterable[str]) -> Found[tuple[CdiSpec, ...]]:
    """The specifications in these folders."""
    specs, failed = [], []
    for folder in folders:
        names = [n for n in look.names(folder) if n.endswith((".json", ".yaml", ".yml"))]
        for name in names[:_FILES]:
            path = f"{folder}/{name}"
            spec = parse(path, look.data(path, _SIZE + 1) or b"")
            if isinstance(spec, str):
                failed.append(Probe(name="cdi", ok=False, says=f"{path}: {spec}"))
            else:
                gone = tuple(name for name in spec.missing if not look.exists(name))
                specs.append(replace(spec, missing=gone[:_MOST]))
    return tuple(specs), tuple(failed)


def parse(path: str, data: bytes) -> CdiSpec | str:
    """One specification; or in words why it is none. Devices are named ``nvidia.com/gpu=all``.

    Its ``missing`` are all the files that it takes from the host: none of them is looked at here.
    """
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
    nodes = tuple(_edits(content, "deviceNodes"))
    files = [_name(mount.get("hostPath")) for mount in _edits(content, "mounts")]
    files += [_name(node.get("hostPath", node.get("path"))) for node in nodes]
    drivers = (re.search(r"/lib(?:cuda|nvidia-ml)\.so\.(\d{3,4}[.\d]{1,12})$", f) for f in files)
    majors = {_name(node.get("path")): str(node["major"]) for node in nodes if _is_major(node)}
    return CdiSpec(
        path=path,
        version=text,
        devices=tuple(names),
        driver=next((match[1] for match in drivers if match), None),
        majors=Pairs(tuple(sorted(majors.items())[:_MOST])),
        missing=tuple(dict.fromkeys(name for name in files if name.startswith("/"))),
        # One without a readable path is one, too.
        hooks=tuple(dict.fromkeys(_name(hook.get("path")) for hook in _edits(content, "hooks"))),
    )


def _edits(content: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    """Entries of one kind among the edits for every container and those of each device."""
    devices = content.get("devices")
    owners = [content, *(devices if isinstance(devices, list) else [])[:_MOST]]
    for owner in owners:
        edits = owner.get("containerEdits") if isinstance(owner, dict) else None
        entries = edits.get(kind) if isinstance(edits, dict) else None
        for entry in (entries if isinstance(entries, list) else [])[:_MOST]:
            if isinstance(entry, dict):
                yield entry


def _name(value: object) -> str:
    return clean(value)[:300] if isinstance(value, str) else ""


def _is_major(node: Mapping[str, Any]) -> bool:
    number = node.get("major")
    return isinstance(number, int) and not isinstance(number, bool) and 0 < number < 1 << 20


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
