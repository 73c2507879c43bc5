"""The middle of the corridor, stage by stage, on plans of the planner; no engine is asked."""

from pathlib import Path
from typing import NamedTuple, cast

import pytest

from envbuild import build
from envbuild.engines.base import Engine
from envbuild.engines.staging import epoch
from envbuild.errors import InputError, StaleError
from envbuild.io.net import Net
from envbuild.io.workspace import Workspace
from envbuild.lock.text import dump_lock
from envbuild.matrix.load import load
from envbuild.planner.plan import plan as make
from envbuild.planner.resolve import resolve
from envbuild.values.codec import Pairs, digest, replace
from envbuild.values.host import EngineFacts
from envbuild.values.image import Image
from envbuild.values.lock import AptPackage, Lock, LockedBase
from envbuild.values.plan import Plan
from envbuild.values.request import Request


@pytest.fixture(scope="module")
def plan() -> Plan:
    request = Request(cc=("6.1",), toolkit_source="distro", base_os="debian13")
    made = make(resolve(request, None, load()), load())
    assert isinstance(made, Plan)
    return made


@pytest.fixture
def lock(plan: Plan) -> Lock:
    """Made: the shape of a lock, with versions and digests that no archive ever had."""
    from envbuild.certify import probes
    from envbuild.render import templates

    base = LockedBase(ref=str(plan.image.ref), digest="sha256:" + "1" * 64, platform="linux/amd64")
    return Lock(
        tool="0",
        plan=digest(plan),
        matrix=plan.matrix,
        platform="linux/amd64",
        base=base,
        runtime=base,
        apt_index=("trixie main contrib non-free",),
        apt=(AptPackage(name="g++-13", version="13.3.0-13", arch="amd64"),),
        templates=templates.hashes(),
        probes=probes.hashes(),
    )


def test_a_context_that_is_fresh_is_read_and_is_the_same(
    plan: Plan, lock: Lock, tmp_path: Path
) -> None:
    space = Workspace(tmp_path)
    for fixed in (lock, None):
        first = build.rendered(plan, fixed, space)
        assert space.path("context").is_dir()
        stamp = space.path("stamps.json").stat().st_mtime_ns
        assert build.rendered(plan, fixed, space) == first
        assert space.path("stamps.json").stat().st_mtime_ns == stamp, "it was rendered again"


def test_a_context_that_was_touched_or_has_other_inputs_is_rendered_again(
    plan: Plan, lock: Lock, tmp_path: Path
) -> None:
    space = Workspace(tmp_path)
    first = build.rendered(plan, lock, space)
    (space.path("context") / "apt.lock").write_text("evil=1\n")
    assert build.rendered(plan, lock, space) == first
    assert (space.path("context") / "apt.lock").read_text() == "g++-13=13.3.0-13\n"
    other = replace(lock, apt=(AptPackage(name="g++-13", version="13.3.0-14", arch="amd64"),))
    assert build.rendered(plan, other, space) != first


def test_nothing_is_written_without_a_workspace(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    build.rendered(plan, None, None)
    assert list(tmp_path.iterdir()) == []


def test_the_workspaces_lock_is_taken_only_while_it_fits(
    plan: Plan, lock: Lock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from envbuild.engines.docker import DockerEngine

    made = []

    def make_lock(*asked: object) -> Lock:
        made.append(asked)
        return lock

    monkeypatch.setattr("envbuild.lock.make.lock", make_lock)
    space, engine = Workspace(tmp_path), DockerEngine()
    assert build.known_lock(space, plan) is None
    assert build.locked(space, plan, Net(), engine) == lock
    assert build.locked(space, plan, Net(), engine) == lock
    assert len(made) == 1, "the second run takes what is there"
    space.path(build.LOCK).write_bytes(dump_lock(replace(lock, apt=())))
    build.locked(space, plan, Net(), engine)
    assert len(made) == 2, "a lock that was changed by hand is not trusted"
    other = replace(plan, cc=("7.0",))
    build.locked(space, other, Net(), engine)
    assert len(made) == 3, "another plan takes another lock"


def test_a_lock_file_of_another_plan_is_stale(plan: Plan, lock: Lock, tmp_path: Path) -> None:
    file = tmp_path / "envbuild.lock"
    file.write_bytes(dump_lock(lock))
    assert build.known_lock(Workspace(tmp_path), plan, file) == lock
    with pytest.raises(StaleError) as caught:
        build.known_lock(Workspace(tmp_path), replace(plan, cc=("7.0",)), file)
    assert caught.value.exit_code == 7


def test_the_runtime_stage_has_a_name_of_its_own(plan: Plan) -> None:
    assert build.tag_of(plan) == "envbuild/cu124-cc61"
    assert build.tag_of(plan, "runtime") == "envbuild/cu124-cc61-runtime"


def test_only_the_local_engine_has_plans_made_again(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from envbuild.engines.docker import DockerEngine
    from envbuild.engines.local import LocalEngine

    monkeypatch.setattr("envbuild.engines.toolkits.folders", list)
    wide = make(resolve(Request(cc=("9.0",)), None, load()), load())
    assert isinstance(wide, Plan)
    assert build.fitted(LocalEngine(tmp_path), wide).toolkit_source == "wheels"
    assert build.fitted(DockerEngine(), plan) == plan


def test_a_lock_beside_the_user_is_taken_while_it_fits(
    plan: Plan, lock: Lock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    space, said = Workspace(), list[str]()
    Path("envbuild.lock").write_bytes(dump_lock(lock))
    assert build.known_lock(space, plan, say=said.append) == lock
    assert said == []
    assert build.known_lock(space, replace(plan, cc=("7.0",)), say=said.append) is None
    assert "made for another plan" in said[0]
    Path("envbuild.lock").write_text("{")
    with pytest.raises(InputError, match=r"envbuild\.lock is not JSON"):
        build.known_lock(space, plan)


def test_the_workspace_keeps_the_lock_that_was_used(
    plan: Plan, lock: Lock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from envbuild.engines.docker import DockerEngine

    other = replace(lock, apt=())
    monkeypatch.setattr("envbuild.lock.make.lock", lambda *_: other)
    space, engine, file = Workspace(tmp_path / "w"), DockerEngine(), tmp_path / "mine.lock"
    build.locked(space, plan, Net(), engine)
    assert space.load(Lock, build.LOCK) == other
    file.write_bytes(dump_lock(lock))
    assert build.locked(space, plan, Net(), engine, file) == lock
    assert space.load(Lock, build.LOCK) == lock
    build.rendered(plan, None, space)
    assert space.load(Lock, build.LOCK) is None


@pytest.mark.parametrize("tag", ["", "-x", "A B", "UPPER", "a:b:c", "a\nb", 'a"$(id)', "x/../y"])
def test_a_name_that_no_image_can_have(plan: Plan, tag: str) -> None:
    with pytest.raises(InputError, match="is not an image reference"):
        build.tag_of(plan, "", tag)


def test_names_of_images(plan: Plan, tmp_path: Path) -> None:
    assert build.tag_of(plan, "runtime", "me.example:5000/x/y:1.0") == "me.example:5000/x/y:1.0"
    assert build.tag_of(tmp_path / "My Context (2)") == "envbuild/my-context-2"
    assert build.tag_of(tmp_path / "--é") == "envbuild/context"
    with pytest.raises(InputError, match="is pinned"):
        build.tag_of(plan, "", "x@sha256:" + "1" * 64)
    with pytest.raises(InputError, match="no stage 'moon'"):
        build.tag_of(plan, "moon")


class Built(NamedTuple):
    """An engine that holds one image and counts its builds; made."""

    image: Image
    builds: list[str]
    name: str = "made"

    def probe(self) -> EngineFacts:
        return EngineFacts(name=self.name, version="1.0", answers=True)

    def inspect(self, ref: str) -> Image | None:
        return self.image if ref == self.image.ref else None

    def build(self, *asked: object) -> Image:
        self.builds.append(str(asked[1]))
        return self.image


def test_offline_an_image_of_the_same_lock_is_taken_as_it_is(
    plan: Plan, lock: Lock, tmp_path: Path
) -> None:
    labels = {
        "envbuild.plan": digest(plan),
        "envbuild.lock": digest(lock),
        "envbuild.stage": "devel",
    }
    image = Image(ref="x", config="sha256:1", platform="linux/amd64", labels=Pairs(labels))
    context, space = build.rendered(plan, lock, None), Workspace(tmp_path)
    for engine, net, tag, target, builds in (
        (Built(image, []), Net(offline=True), "x", "", 0),
        (Built(image, []), Net(offline=True), "x", "runtime", 1),
        (Built(image, []), Net(offline=True), "y", "", 1),
        (Built(image, []), Net(), "x", "", 1),
        (Built(replace(image, labels=Pairs()), []), Net(offline=True), "x", "", 1),
    ):
        made = build.built(space, context, tag, net, cast("Engine", engine), target=target)
        assert len(engine.builds) == builds
        # Which engine made it is known of what was built just now alone.
        assert made.builder == (("made", "1.0") if builds else ())


def test_a_stage_that_the_dockerfile_lacks(plan: Plan, lock: Lock, tmp_path: Path) -> None:
    image = Image(ref="x", config="sha256:1", platform="linux/amd64")
    engine = Built(image, [])
    with pytest.raises(InputError, match="no stage 'moon'"):
        build.built(
            Workspace(tmp_path),
            build.rendered(plan, lock, None),
            "x",
            Net(),
            cast("Engine", engine),
            target="moon",
        )
    assert engine.builds == []


def test_the_time_of_an_image_is_the_date_of_its_plan(plan: Plan, lock: Lock) -> None:
    def at(date: str) -> int:
        other = replace(plan, matrix=replace(plan.matrix, date=date))
        return epoch(build.rendered(other, None, None))

    assert (at("2026-12-01"), at("1066-10-14")) == (1796083200, 0)
    for date in ("", "soon", "2026-13-01", "\x1b[2J", "9" * 400, "2026-12-01T00:00"):
        with pytest.raises(InputError, match="no date"):
            at(date)
