"""What a real Debian image says of itself."""

import pytest

from envbuild.attest.packages import packages
from envbuild.engines.base import Engine, RunSpec
from tests.integration.certifying import Make

pytestmark = pytest.mark.engine

METADATA = "Metadata-Version: 2.1\nName: Made_Up\nVersion: 1.2\n\nVersion: 9\n"
DOCKERFILE = """FROM {base}
COPY METADATA /opt/app/lib/made_up-1.2.dist-info/METADATA
COPY SHORT /srv/short-3.egg-info/PKG-INFO
RUN printf 'ID=debian\\nVERSION_ID=12' > /usr/lib/os-release
USER 1000
"""


def test_every_package_of_the_image_is_named(engine: Engine, make: Make) -> None:
    image = make(DOCKERFILE, METADATA=METADATA.encode(), SHORT=b"Name: short\nVersion: 3")
    found = packages(engine, image.ref)
    argv = ("/bin/sh", "-c", "dpkg-query -W | wc -l")
    counted = int(engine.run(image.ref, RunSpec(argv=argv)).out)
    named = {p.name for p in found.installed if p.kind == "deb"}
    assert sum(p.kind == "deb" for p in found.installed) == counted > 50
    assert {"bash", "libc6", "dpkg", "coreutils"} <= named
    python = {(p.name, p.version) for p in found.installed if p.kind == "pypi"}
    assert {("Made_Up", "1.2"), ("short", "3")} <= python
    assert found.system == "debian-12"
    assert found.missing == ()
    assert packages(engine, image.ref) == found


def test_an_image_without_a_shell_says_so(engine: Engine, make: Make) -> None:
    image = make("FROM scratch\nCOPY METADATA /app\n", METADATA=b"")
    found = packages(engine, image.ref)
    assert found.installed == ()
    assert "no shell" in found.missing[0]


def test_a_database_that_cannot_be_read_is_not_an_empty_one(engine: Engine, make: Make) -> None:
    found = packages(engine, make("FROM {base}\nRUN rm /usr/bin/dpkg-query\n").ref)
    assert [p for p in found.installed if p.kind == "deb"] == []
    assert "dpkg packages is incomplete" in found.missing[0]
