"""Certificates of an H200 for these tests: what was recorded there, stated anew as if run today.

Made: the subject (an image of nobody) and the times; all else is the recording's.
"""

from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from envbuild.attest import publish
from envbuild.attest.verify import About, Found
from envbuild.certify import run
from envbuild.certify.seen import Seen
from envbuild.values.certificate import Certificate, Check, Device, Subject
from envbuild.values.codec import Pairs, load, replace

RECORDED = Path(__file__).parent.parent / "certify" / "recorded"
MANIFEST, CONFIG = "sha256:" + "a" * 64, "sha256:" + "b" * 64
ABOUT = About("registry.example/app:1", (MANIFEST, CONFIG))
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
FINISHED = "2026-12-01T12:00:20Z"


@cache
def certificate(
    name: str = "h200-podman.seen.json", *require: str, digest: str = MANIFEST
) -> Certificate:
    """One whose required suites are ``require``, smoke else."""
    seen = load(Seen, (RECORDED / name).read_bytes(), name)
    made = run.state(seen, require or ("smoke",))
    subject = Subject(
        kind="manifest" if digest == MANIFEST else "config",
        name="registry.example/app",
        digest=digest,
    )
    return replace(made, subject=subject, started="2026-12-01T12:00:00Z", finished=FINISHED)


def of_gpu(gpu: str, uuid: str = "GPU-made", **more: object) -> Certificate:
    """The same certificate from another GPU, of this capability."""
    one = certificate()
    suites = tuple(replace(s, checks=tuple(_on(c, gpu) for c in s.checks)) for s in one.suites)
    device = Device(name="made", uuid=uuid, cc=gpu)
    return replace(one, **{"device": device, "suites": suites} | more)


def _on(check: Check, cc: str) -> Check:
    inputs = {name: cc if name == "device" else text for name, text in check.inputs}
    return replace(check, inputs=Pairs(inputs))


def signed(made: Certificate, key: Ed25519PrivateKey = KEY, *, named: bool = False) -> Found:
    """It as an envelope in a registry, or in a file that somebody names."""
    return Found("sha256:0123", publish.signed(made, (), key)[0].envelope, named)
