"""What a real Debian image says of itself."""

import pytest

from envbuild.attest.packages import packages
from envbuild.engines.base import Engine, RunSpec
from tests.integration.certifying import Make

pytestmark = pytest.mark.engine

METADATA = "Metadata-Version: 2.1\nName: Made_Up\nVersion: 1.2\n\nVersion: 9\n"
DOCKERFILE = "FROM {base}\nCOPY METADATA /opt/app/lib/made_up-1.2.dist-info/METADATA\nUSER 1000\n"


def test_every_package_of_the_image_is_named(engine: Engine, make: Make) -> None:
    image = make(DOCKERFILE, METADATA=METADATA.encode())
    found = packages(engine, image.ref)
    argv = ("/bin/sh", "-c", "dpkg-query -W | wc -l")
    counted = int(engine.run(image.ref, RunSpec(argv=argv)).out)
    named = {p.name for p in found.installed if p.kind == "deb"}
    assert sum(p.kind == "deb" for p in found.installed) == counted > 50
    assert {"bash", "libc6", "dpkg", "coreutils"} <= named
    assert ("Made_Up", "1.2") in {(p.name, p.version) for p in found.installed}
    assert found.system == "debian-12"
    assert found.missing == ()
    assert packages(engine, image.ref) == found
