"""Images that are made to be certified: of Debian and this machine's libcudart, none a vendor's."""

from collections.abc import Callable

from envbuild.certify import run
from envbuild.engines.base import Engine
from envbuild.values.certificate import Certificate, Check
from envbuild.values.host import Host
from envbuild.values.image import Image

RUNTIME = (
    "FROM {base}\nCOPY libcudart.so.13 /usr/lib/x86_64-linux-gnu/\nRUN ldconfig\n"
    "LABEL envbuild.stage=runtime envbuild.promise=61,90 envbuild.cc=6.1,9.0 envbuild.cuda=13.0.2\n"
    "{more}USER 1234:1234\n"
)

Make = Callable[..., Image]


def certify(engine: Engine, image: Image, host: Host = Host(), **policy: object) -> Certificate:  # noqa: B008
    return run.certify(
        engine,
        image,
        host=host,
        policy=run.Policy(**{"require": ("toolchain",)} | policy),  # type: ignore[arg-type]
    )


def check(found: Certificate, name: str) -> Check:
    return next(c for s in found.suites for c in s.checks if c.id == f"toolchain.{name}")
