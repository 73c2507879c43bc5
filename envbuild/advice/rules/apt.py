"""Package managers: lists, keys, repositories of another release, held packages."""

import re
from collections import defaultdict
from collections.abc import Iterator

from envbuild.advice.rows import cited
from envbuild.advice.rules import Advice, Rule, advice
from envbuild.advice.scene import Scene
from envbuild.matrix.load import load, load_reference
from envbuild.planner.table import cite
from envbuild.values.finding import Step
from envbuild.values.host import AptSource

_CUDA = re.compile(r"developer\.download\.nvidia\.com/compute/cuda/repos/([a-z0-9-]+)")
_BROKEN = ("apt-sha1", "libtinfo5", "unmet-dependencies", "no-release-file")


def list_is_a_page(scene: Scene) -> Iterator[Advice]:
    """A list file that holds an error page: per-release addresses of the toolkit are gone."""
    for source in scene.host.apt_sources:
        if not source.says:
            continue
        from envbuild.advice.fixes import container
        from envbuild.host.access import containers

        here = containers(scene.host)
        install = container.install(load_reference(), here) if here is not None else ()
        yield advice(
            "toolkit-list-url",
            "error",
            f"{source.path} is no list: it begins with {source.says!r}",
            why="An error page was saved in its place: there are no lists for single releases any "
            "more; one, stable/deb, serves all.",
            steps=(
                Step(
                    why="apt cannot read it",
                    argv=("sudo", "rm", "-f", source.path),
                    check="sudo apt-get update: no error about it",
                ),
                *install,
            ),
            source=cited("toolkit-list-url"),
            explains=("toolkit-list-url", "no-release-file"),
        )


def repository_of_another_release(scene: Scene) -> Iterator[Advice]:
    """The vendor's repository of another system, or on WSL one that holds drivers."""
    os = scene.host.os.id or ""
    for source in scene.host.apt_sources:
        found = _CUDA.search(source.url or "")
        rows = [row for row in load().repositories if row.kind == "apt"]
        used = next((row for row in rows if found and row.name == found[1]), None)
        right = [row for row in rows if os in row.oses and _platform(row.platform, scene)]
        if used is None or used in right or not os:
            continue
        what = "holds drivers, which WSL must not have" if scene.wsl2 else f"is not made for {os}"
        offered = f"the one for it is {right[0].name}" if right else "there is none for it"
        yield advice(
            "repository-of-another-release",
            "error" if scene.saw(*_BROKEN) else "warn",
            f"{source.path} names the repository {used.name}, which {what}: {offered}",
            why="Its packages ask for libraries or a key that this system does not have.",
            steps=(
                Step(
                    why="two repositories offer different packages of one name",
                    argv=("sudo", "rm", "-f", source.path),
                    check="grep -r developer.download.nvidia.com /etc/apt/sources.list.d: not it",
                ),
                Step(
                    why="add the right one, its key checked",
                    argv=("envbuild", "setup", "wsl2" if scene.wsl2 else "auto"),
                    check="sudo apt-get update ends without an error",
                ),
            ),
            source=cite(used, f"{used.kind}/{used.name}"),
            explains=_BROKEN,
        )


def _platform(platform: str, scene: Scene) -> bool:
    return (platform == "wsl2") == scene.wsl2


def two_keys(scene: Scene) -> Iterator[Advice]:
    """Two lists of one repository with different keys: apt takes neither."""
    keys: dict[str, list[AptSource]] = defaultdict(list)
    for source in scene.host.apt_sources:
        if source.url:
            keys[f"{source.url.rstrip('/')} {source.suite or ''}"].append(source)
    for url, sources in keys.items():
        if len({source.signed_by for source in sources}) < 2:
            continue
        old = sorted(sources, key=lambda source: (source.signed_by or "", source.path))[:-1]
        paths = ", ".join(source.path for source in sources)
        yield advice(
            "apt-signed-by",
            "error",
            f"{paths} name {url.strip()} with different keys: apt reads neither",
            why="An older list lies beside the new one.",
            steps=tuple(
                Step(
                    why="the list that names no key, or the old one; the other one stays",
                    argv=("sudo", "rm", "-f", source.path),
                    check="sudo apt-get update: no word of Signed-By",
                )
                for source in old
            ),
            source=cited("apt-signed-by"),
            explains=("apt-signed-by",),
        )


def held(scene: Scene) -> Iterator[Advice]:
    """Packages that are held where apt finds no way."""
    seen = scene.saw("unmet-dependencies")
    if seen is None or not scene.host.held:
        return
    names = ", ".join(scene.host.held[:8])
    yield advice(
        "held-packages",
        "error",
        f"apt finds no way while these are held: {names}",
        why="A held package keeps its version, and with it all that demand that version. A pin of "
        "the branch (for cards below 7.5: R580) is meant to stay.",
        steps=(
            Step(
                why="let go of those that are not meant to stay",
                argv=("sudo", "apt-mark", "unhold", *scene.host.held[:8]),
                check="apt-mark showhold",
            ),
            Step(
                why="see what apt would do, before it does it",
                argv=("apt-get", "--simulate", "install", "--fix-broken"),
                check="no nvidia package is removed that is to stay",
            ),
        ),
        source=cited("unmet-dependencies"),
        explains=("unmet-dependencies",),
    )


RULES: tuple[Rule, ...] = (list_is_a_page, repository_of_another_release, two_keys, held)
