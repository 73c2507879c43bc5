"""Attaching is killed at each of its requests: what is listed is whole, the next run ends it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.io.referring import ENVELOPE, attach, fetched, listed
from tests.io.registry import Handler, Registry

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import sys
from tests.io import referring
from tests.io.registry import Registry
referring.attach(Registry(sys.argv[1]))
"""


def test_killed_at_any_request(registry: Registry, tmp_path: Path) -> None:
    """Before it is answered; that it was done and not answered is as being killed at the next."""
    attach(registry)
    requests = len(registry.asked)
    whole = (dict(registry.blobs), dict(registry.manifests))
    env = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    for number in range(1, requests + 1):
        registry.blobs.clear()
        registry.manifests.clear()
        registry.asked.clear()
        process = subprocess.Popen([sys.executable, "-c", CODE, registry.host], env=env)

        def kill(_: Handler, at: int = number, one: "subprocess.Popen[bytes]" = process) -> bool:
            if len(registry.asked) == at:
                one.send_signal(signal.SIGKILL)
            return len(registry.asked) >= at

        registry.fault = kill
        assert process.wait(60) == -signal.SIGKILL, number
        registry.fault = lambda _: False
        assert set(fetched(registry)) <= {ENVELOPE}, "nothing that is listed lacks a part"
        attach(registry)
        assert len(listed(registry)) == 1
        assert (registry.blobs, registry.manifests) == whole
