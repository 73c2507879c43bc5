"""What tests of referrers share: one image, one envelope, and how they are attached and read."""

import json
from collections.abc import Callable
from typing import Any

from envbuild.io import oci, referrers
from envbuild.io.net import Net
from tests.io.registry import NAME, Handler, Registry
from tests.lock.server import sha

ENVELOPE = b'{"payload": "e30="}'
PREDICATE = "https://slsa.dev/provenance/v1"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
SUBJECT = oci.Manifest(oci.parse("x"), sha(b"image"), sha(b"config"), (), 5, MANIFEST)
TAG = SUBJECT.digest.replace(":", "-")


def reference(registry: Registry) -> oci.Reference:
    return oci.parse(f"{registry.host}/{NAME}:1")


def attach(registry: Registry, envelope: bytes = ENVELOPE, created: str | None = None) -> str:
    return referrers.attach(
        reference(registry), SUBJECT, envelope, predicate=PREDICATE, net=Net(), created=created
    )


def listed(registry: Registry) -> tuple[referrers.Referrer, ...]:
    return referrers.referrers(reference(registry), SUBJECT.digest, Net())


def fetched(registry: Registry) -> list[bytes]:
    return [referrers.fetch(reference(registry), one, Net()) for one in listed(registry)]


def tagged(registry: Registry) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(registry.manifests[TAG][1])["manifests"]
    return entries


def faulty(
    method: str, part: str, answer: Callable[[Handler], None], times: int = 1000
) -> Callable[[Handler], bool]:
    """A fault for the first requests of a kind."""
    left = [times]

    def fault(one: Handler) -> bool:
        if one.command != method or part not in one.path or not left[0]:
            return False
        left[0] -= 1
        one.body()
        answer(one)
        return True

    return fault
