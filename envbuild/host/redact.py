"""A host without what identifies this very machine or its user, for public reports."""

import re

from envbuild.values.codec import Pairs, replace
from envbuild.values.host import Gpu, Host, Tool

_HOME = re.compile(r"/(?:home|Users|root)(?:/[^/:\s]+)?|[A-Za-z]:[\\/]Users[\\/][^\\/:\s]+")


def redact(host: Host) -> Host:
    """The same machine with numbered uuids and home folders as ``~``; all versions stay."""
    return replace(
        host,
        gpus=tuple(_gpu(i, gpu) for i, gpu in enumerate(host.gpus)),
        engines=tuple(replace(e, cli=_path(e.cli), says=_path(e.says) or "") for e in host.engines),
        cdi=tuple(
            replace(
                spec,
                path=_path(spec.path),
                devices=tuple(d for d in spec.devices if "=GPU-" not in d and "=MIG-" not in d),
            )
            for spec in host.cdi
        ),
        container_toolkit=_tool(host.container_toolkit) if host.container_toolkit else None,
        toolkits=tuple(map(_tool, host.toolkits)),
        compilers=tuple(map(_tool, host.compilers)),
        python=_tool(host.python) if host.python else None,
        env=Pairs(tuple((name, _path(_uuids(value)) or "") for name, value in host.env)),
        probes=tuple(replace(p, says=_path(_uuids(p.says)) or "") for p in host.probes),
    )


def _gpu(index: int, gpu: Gpu) -> Gpu:
    uuid = f"GPU-00000000-0000-0000-0000-{index:012d}" if gpu.uuid else None
    mig = gpu.mig and replace(
        gpu.mig,
        instances=tuple(
            f"MIG-00000000-0000-0000-{index:04d}-{i:012d}" for i in range(len(gpu.mig.instances))
        ),
    )
    return replace(gpu, uuid=uuid, mig=mig)


def _tool(tool: Tool) -> Tool:
    return replace(tool, path=_path(tool.path))


def _path(text: str | None) -> str | None:
    return _HOME.sub("~", text) if text else text


def _uuids(text: str) -> str:
    return re.sub(r"\b(GPU|MIG)-[0-9a-fA-F-]{8,}", r"\1-0", text)
