"""No image that is built gives anybody more rights than its base does; each look is shown to see.

The big images are those of ``test_corridor.py``; its runtime stages are looked at there.
"""

import pytest

from envbuild.engines.base import Engine
from tests.integration.certifying import Make
from tests.integration.corridor import Cli
from tests.integration.rights import beyond_base, rights

pytestmark = pytest.mark.engine
# security.capability as linux/capability.h lays it out: revision 2, effective, CAP_NET_RAW.
ABLE = (
    "perl -e 'my ($name, $able) = (qq(security.capability), "
    "pack(qq(V5), 0x02000001, 1 << 13, 0, 0, 0)); "
    "syscall(188, $ARGV[0], $name, $able, 20, 0) and die $!'"
)
PLANTED = f"""FROM {{base}}
RUN mkdir -m 777 /opt/folder && mkdir -m 1777 /opt/sticky && ln -s /nowhere /opt/link
RUN echo > "/opt/a file" && chmod 666 "/opt/a file"
RUN install -m 4755 /bin/true /opt/user && install -m 2755 /bin/true /opt/group
RUN cp /bin/true /opt/able && {ABLE} /opt/able
RUN mkdir -p -m 700 /home/app/.x && echo > /home/app/.x/open && chmod 602 /home/app/.x/open
RUN mkdir -p -m 700 /root/bin && install -m 4700 -o 1000 /bin/true /root/bin/user
RUN install -d -m 757 /usr/local/lib/folder && install -m 6755 /bin/true /usr/local/bin/both
FROM scratch
COPY --from=0 / /
RUN echo > /srv/later && chmod 646 /srv/later
"""
PLACES = (" /opt/", " /home/", " /root/", " /usr/local/", " /srv/")


@pytest.mark.slow
@pytest.mark.parametrize("corridor", ["distro", "wheels"])
def test_nothing_beyond_the_base(corridor: str, request: pytest.FixtureRequest) -> None:
    cli: Cli = request.getfixturevalue(corridor)
    assert cli.image().user == "1000:1000"
    assert beyond_base(cli) == set()


@pytest.mark.parametrize("engine", ["docker"], indirect=True)
def test_each_look_sees(engine: Engine, make: Make, old_docker: str, base: str) -> None:
    image = make(PLANTED)
    planted = {one for one in rights(old_docker, image.ref) if any(p in one for p in PLACES)}
    assert planted == {
        "open /opt/folder",
        "open /opt/a file",
        "set /opt/user",
        "set /opt/group",
        "able /opt/able",
        # In folders that are closed to others, and in another stage than they were made in.
        "open /home/app/.x/open",
        "set /root/bin/user",
        "open /usr/local/lib/folder",
        "set /usr/local/bin/both",
        "open /srv/later",
    }
