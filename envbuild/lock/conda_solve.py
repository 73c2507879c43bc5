"""The program that asks rattler for a set of conda packages: JSON in, JSON out.

A process of its own, so that neither this user's conda settings nor rattler's threads reach us.
It ends with 3 where the packages cannot be had together, with 4 where the channel cannot be read.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any, TypedDict

import rattler
from rattler.exceptions import SolverError


class Question(TypedDict):
    """Channel address, its folders, what is wanted, what the system is said to be."""

    channel: str
    subdirs: list[str]
    specs: list[str]
    system: dict[str, str]
    cache: str


def main() -> int:
    """Read a question, print ``[{name, version, path, sha256, size}]``."""
    question: Question = json.load(sys.stdin)
    try:
        json.dump(asyncio.run(_solved(question)), sys.stdout)
    except SolverError as e:
        sys.stderr.write(str(e))
        return 3
    except Exception as e:
        sys.stderr.write(f"{type(e).__name__}: {e}")
        return 4
    return 0


async def _solved(question: Question) -> list[dict[str, Any]]:
    config = rattler.Config.from_toml('tls-root-certs = "system"')
    client = rattler.Client.from_config(config)
    gateway = rattler.Gateway(cache_dir=Path(question["cache"]), client=client)
    system = [
        rattler.GenericVirtualPackage(
            rattler.PackageName(name), rattler.Version(version), rattler.BuildString("0")
        )
        for name, version in question["system"].items()
    ]
    records = await rattler.solve(
        [question["channel"]],
        question["specs"],
        gateway=gateway,
        platforms=[rattler.Subdir(name) for name in question["subdirs"]],
        virtual_packages=system,
    )
    return [
        {
            "name": record.name.normalized,
            "version": str(record.version),
            "path": f"{record.subdir}/{record.file_name}",
            "sha256": record.sha256.hex() if record.sha256 else "",
            "size": record.size,
        }
        for record in records
    ]


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Its threads outlive Python's own end, and one process in ten would die of that.
    os._exit(code)
