"""The vendor's archives: ``redistrib_X.Y.Z.json`` lists every part of a release by sha256."""

import msgspec

from envbuild.errors import MachineError
from envbuild.io import http
from envbuild.io.net import Net
from envbuild.render import archive as archives
from envbuild.values.lock import Part
from envbuild.values.plan import Archive, Plan


class _File(msgspec.Struct):
    relative_path: str
    sha256: str
    size: str


class _Component(msgspec.Struct):
    """One part; each platform that has it is a key of its own."""

    version: str = ""
    linux_x86_64: _File | None = msgspec.field(name="linux-x86_64", default=None)
    linux_sbsa: _File | None = msgspec.field(name="linux-sbsa", default=None)


def find(plan: Plan, archive: Archive, url: str, net: Net) -> tuple[Part, ...]:
    """The parts of the planned release, as its index lists them, in the plan's order.

    Args:
        plan: its release and architecture.
        archive: the parts wanted.
        url: the archive's address here.
        net: CA.

    Raises:
        MachineError: no answer, no such release, or a part is not in it for this platform.
    """
    name = f"redistrib_{plan.cuda}.json"
    response = http.get(f"{url}/{name}", net, allow=(404,))
    if response.status_code == 404:
        what = f"{archive.name} has no {name}"
        raise MachineError(what, fix="ask for another release with --cuda, or check the mirror")
    listed = http.decoded(response, dict[str, msgspec.Raw], "an index of a release")
    platform = archives.platform(archive, plan.arch)
    found = []
    for part in archive.parts:
        component = _component(listed[part], f"{name}: {part}") if part in listed else _Component()
        file = component.linux_x86_64 if platform == "linux-x86_64" else component.linux_sbsa
        if file is None:
            what = f"{name} lists no {part} for {platform}"
            raise MachineError(what, fix="ask for another release with --cuda, or another source")
        size = int(file.size) if file.size.isdigit() else None
        found.append(
            Part(
                name=part,
                version=component.version,
                path=file.relative_path,
                sha256=file.sha256,
                size=size,
            )
        )
    return tuple(found)


def _component(raw: msgspec.Raw, name: str) -> _Component:
    try:
        return msgspec.json.decode(raw, type=_Component)
    except msgspec.DecodeError as e:
        what = f"{name} is not described as a part of a release"
        raise MachineError(
            what, why=str(e), fix="check the mirror: it may have another form"
        ) from e
