"""Each real engine pulls what a registry serves: an index leads to the manifest of an image."""

import hashlib
import json
import urllib.request

import pytest

from envbuild.engines import names
from envbuild.engines.base import Engine, RunSpec
from envbuild.io.net import Net

pytestmark = pytest.mark.engine


def test_an_index_is_never_taken_for_the_manifest_of_an_image(
    engine: Engine, registry: str, base: str
) -> None:
    manifest = str(names.digest_of(base))
    index = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [
                {
                    "mediaType": "application/vnd.oci.image.manifest.v1+json",
                    "digest": manifest,
                    "size": _size(registry, manifest),
                    "platform": {"architecture": "amd64", "os": "linux"},
                }
            ],
        }
    ).encode()
    request = urllib.request.Request(
        f"http://{registry}/v2/library/debian/manifests/envbuild-test-index",
        data=index,
        method="PUT",
        headers={"Content-Type": "application/vnd.oci.image.index.v1+json"},
    )
    urllib.request.urlopen(request, timeout=10).close()  # noqa: S310
    net = Net(registry_mirror=registry)
    pinned = f"docker.io/library/debian@sha256:{hashlib.sha256(index).hexdigest()}"
    for ref in (pinned, "docker.io/library/debian:envbuild-test-index"):
        assert engine.pull(ref, net).manifest == manifest
        assert engine.run(ref, RunSpec(argv=("true",))).rc == 0


def _size(registry: str, manifest: str) -> int:
    request = urllib.request.Request(
        f"http://{registry}/v2/library/debian/manifests/{manifest}",
        headers={"Accept": "application/vnd.oci.image.manifest.v1+json"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
        return len(answer.read())
