"""What a context holds, for whom, and what it must never hold."""

import json
import re

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from envbuild.errors import InputError, NoPlanError
from envbuild.render.context import render
from envbuild.render.view import image_name
from envbuild.values.codec import Pairs, digest, dump, load, replace
from envbuild.values.finding import Finding
from envbuild.values.image import BuildContext
from envbuild.values.lock import Key, Lock
from envbuild.values.plan import ImageChoice, Layout, Plan, RunFlags
from tests.render import locks, plans

LOCKED = [
    (plans.WHEELS, locks.WHEELS),
    (plans.DISTRO, locks.DISTRO),
    (plans.IMAGE, locks.IMAGE),
    (plans.TORCH, locks.TORCH),
]


def text(context: BuildContext, path: str) -> str:
    return next(file.data.decode() for file in context.files if file.path == path)


def dockerfile(plan: Plan, lock: Lock | None) -> str:
    return text(render(plan, lock), "Dockerfile")


@pytest.mark.parametrize(("plan", "lock"), LOCKED)
def test_every_base_is_pinned_and_listed(plan: Plan, lock: Lock) -> None:
    context = render(plan, lock)
    stages = re.findall(r"^FROM (\S+) AS (\S+)$", text(context, "Dockerfile"), re.MULTILINE)
    names = [name for _, name in stages]
    bases = [ref for ref, _ in stages if ref not in names]
    assert set(bases) == set(context.bases)
    assert all(re.search(r"@sha256:[0-9a-f]{64}$", ref) for ref in bases)
    assert names[-1] == "devel"
    assert "runtime" in names


@pytest.mark.parametrize(("plan", "lock"), LOCKED)
def test_a_folder_that_old_engines_build(plan: Plan, lock: Lock) -> None:
    lines = dockerfile(plan, lock)
    assert "# syntax" not in lines
    assert "<<" not in lines
    assert "ARG " not in lines
    assert lines.count("USER 1000:1000") == 2


@pytest.mark.parametrize(("plan", "lock"), LOCKED)
def test_the_plan_and_the_lock_are_in_it_and_in_the_labels(plan: Plan, lock: Lock) -> None:
    context = render(plan, lock)
    assert load(Plan, text(context, "plan.json").encode(), "plan") == plan
    assert load(Lock, text(context, "envbuild.lock").encode(), "lock") == lock
    lines = text(context, "Dockerfile")
    assert lines.count(f'envbuild.plan="{digest(plan)}"') == 2
    assert lines.count(f'envbuild.lock="{digest(lock)}"') == 2


@pytest.mark.parametrize(("plan", "lock"), LOCKED)
def test_the_ignore_file_lets_through_what_the_dockerfile_reads(plan: Plan, lock: Lock) -> None:
    context = render(plan, lock)
    read = set(re.findall(r"source=(\S+),target", text(context, "Dockerfile")))
    read |= set(
        re.findall(r"^COPY (?:--chmod=\S+ )?(\S+) ", text(context, "Dockerfile"), re.MULTILINE)
    )
    read.discard("--from=collect")
    allowed = {line[1:] for line in text(context, ".dockerignore").splitlines() if line[0] == "!"}
    assert allowed == read
    assert allowed <= {file.path for file in context.files}


def test_the_runtime_stage_of_the_vendor_image_is_a_plain_os() -> None:
    lines = dockerfile(plans.IMAGE, locks.IMAGE)
    runtime = lines.partition(" AS runtime")[2].partition("\nFROM")[0]
    assert 'base.name="docker.io/library/ubuntu:22.04"' in runtime
    assert "COPY --from=collect" in runtime
    assert not re.search(r"apt-get|pip|python", runtime)


def test_without_a_plain_os_the_vendor_image_has_no_runtime_stage() -> None:
    plan = replace(plans.IMAGE, image=replace(plans.IMAGE.image, runtime_ref=None))
    assert " AS runtime" not in dockerfile(plan, None)


def test_compat_is_purged_only_where_the_plan_says_so() -> None:
    assert "cuda-compat" in dockerfile(plans.IMAGE, locks.IMAGE)
    kept = replace(plans.IMAGE, layout=Layout())
    assert "cuda-compat" not in dockerfile(kept, locks.IMAGE)


def test_locked_packages_are_exact() -> None:
    context = render(plans.WHEELS, locks.WHEELS)
    assert "g++-12=12.2.0-14+deb12u1" in text(context, "apt.lock").splitlines()
    requirements = text(context, "requirements.txt").splitlines()
    assert all(re.search(r"^\S+==\S+ --hash=sha256:[0-9a-f]{64}$", r) for r in requirements)
    lines = text(context, "Dockerfile")
    assert "--require-hashes" in lines
    assert "--no-deps" in lines


def test_without_a_lock_nothing_claims_a_hash() -> None:
    context = render(plans.WHEELS, None)
    assert text(context, "apt.lock") == "g++-12\npython3\npython3-venv\n"
    assert "--require-hashes" not in text(context, "Dockerfile")
    assert "envbuild.lock" not in {file.path for file in context.files}


def test_torch_stays_what_it_was_locked_as() -> None:
    context = render(plans.TORCH, locks.TORCH)
    lines = text(context, "Dockerfile")
    assert "ENV PIP_CONSTRAINT=/opt/envbuild/constraints.txt" in lines
    assert "torch==2.14.1+cu126" in text(context, "constraints.txt").splitlines()
    assert "torch.version.cuda" in lines
    assert lines.index("2.14.1 12.6") > lines.index("pip install")
    first = text(context, "requirements.txt").splitlines()[0]
    assert first == "--extra-index-url https://download.pytorch.org/whl/cu126"


def test_the_driver_placeholder_stands_for_every_library() -> None:
    lines = dockerfile(plans.DISTRO, locks.DISTRO)
    provides = re.search(r"'Provides: ([^']*)'", lines)
    assert provides is not None
    assert provides[1].split(", ") == list(plans.DISTRO.layout.dummies)
    assert "no-driver" not in dockerfile(plans.WHEELS, locks.WHEELS)


@pytest.mark.parametrize(
    ("access", "wanted"),
    [
        ("cdi", {"driver": "cdi", "device_ids": ["nvidia.com/gpu=all"], "capabilities": ["gpu"]}),
        ("gpus", {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}),
        ("none", None),
    ],
)
def test_compose_asks_for_the_gpu_as_planned(access: str, wanted: dict[str, object] | None) -> None:
    plan = replace(plans.WHEELS, access=access)
    service = yaml.safe_load(text(render(plan, None), "compose.yaml"))["services"]["cuda"]
    if wanted is None:
        assert "deploy" not in service
    else:
        assert service["deploy"]["resources"]["reservations"]["devices"] == [wanted]


def test_compose_on_jetson_uses_the_runtime() -> None:
    plan = replace(plans.WHEELS, access="nvidia-runtime")
    service = yaml.safe_load(text(render(plan, None), "compose.yaml"))["services"]["cuda"]
    assert service["runtime"] == "nvidia"


def test_the_devcontainer_has_the_run_flags() -> None:
    container = json.loads(text(render(plans.WHEELS, None), ".devcontainer/devcontainer.json"))
    assert container["runArgs"] == ["--device", "nvidia.com/gpu=all"]
    assert container["remoteUser"] == "envbuild"


def test_equal_input_gives_equal_bytes() -> None:
    again = load(Plan, dump(plans.WHEELS), "plan")
    assert render(again, locks.WHEELS) == render(plans.WHEELS, locks.WHEELS)
    assert render(again, locks.WHEELS).digest == render(plans.WHEELS, locks.WHEELS).digest


def test_name_of_the_image() -> None:
    assert image_name(plans.WHEELS) == "envbuild/cu130-cc90"
    assert image_name(replace(plans.WHEELS, cc=("6.1", "8.6"))) == "envbuild/cu130-cc61-86"


def test_a_refused_plan_is_not_rendered() -> None:
    error = Finding(id="x", severity="error", says="no toolkit has 3.0")
    with pytest.raises(NoPlanError, match=r"no toolkit has 3\.0"):
        render(replace(plans.WHEELS, outcome="refuse", findings=(error,)), None)


def test_a_source_that_is_not_rendered_names_those_that_are() -> None:
    with pytest.raises(NoPlanError, match="image, wheels, distro, apt, redist, conda"):
        render(replace(plans.WHEELS, toolkit_source="runfile"), None)


@pytest.mark.parametrize("source", ["apt", "redist", "conda"])
def test_a_plan_that_does_not_say_where_to_fetch_is_refused(source: str) -> None:
    with pytest.raises(InputError, match="where its toolkit is fetched"):
        render(replace(plans.WHEELS, toolkit_source=source), None)


@pytest.mark.parametrize("plan", [plans.APT, plans.REDIST, plans.CONDA])
def test_what_is_fetched_by_hash_needs_a_lock(plan: Plan) -> None:
    with pytest.raises(InputError, match="from a lock alone"):
        render(plan, None)


@pytest.mark.parametrize(
    ("plan", "lock"),
    [(plans.APT, locks.APT), (plans.REDIST, locks.REDIST), (plans.CONDA, locks.CONDA)],
)
def test_an_archive_is_fetched_by_hash_and_its_mirror_is_a_secret(plan: Plan, lock: Lock) -> None:
    context = render(plan, lock)
    lines = text(context, "Dockerfile")
    assert context.secrets == ("proxy", "ca", "apt_sources", "toolkit_mirror", "apt_auth")
    assert "apt-key" not in lines
    assert "curl" not in lines
    assert lines.count("mode=0444,required=false") == 8
    listed = text(context, "toolkit.lock").split()
    if plan is plans.APT:
        assert listed == [
            "cuda-cudart-12-9=12.9.79-1", "cuda-nvcc-12-9=12.9.86-1", "cuda-toolkit-12-9=12.9.2-1",
        ]  # fmt: skip
        assert "cuda" not in text(context, "apt.lock")
        assert text(context, "toolkit.sha256").count("/var/cache/apt/archives/cuda-") == 3
        assert "g++_4%3a12.2.0-3_amd64.deb" in text(context, "apt.sha256")
        assert f"3bf863cc.pub /etc/apt/keyrings/envbuild-toolkit.asc SHA256:{'9' * 64}" in lines
    else:
        assert listed[::2] == [part.sha256 for part in lock.parts]
        assert listed[1::2] == [part.path for part in lock.parts]
        assert text(context, "unpack.py").startswith('"""Unpack')
    assert set(text(context, ".dockerignore").split()[1:]) <= {f"!{f.path}" for f in context.files}


@pytest.mark.parametrize(
    ("plan", "lock", "changes"),
    [
        (plans.APT, locks.APT, {"key": Key(fingerprint="x", file="k", sha256="9" * 64)}),
        (plans.APT, locks.APT, {"key": replace(locks.APT.key, file="../k")}),
        (plans.APT, locks.APT, {"key": replace(locks.APT.key, sha256="9;reboot")}),
        (plans.APT, locks.APT, {"apt": (replace(locks.APT.apt[1], sha256="9 /etc/x"),)}),
        (plans.REDIST, locks.REDIST, {"parts": (replace(locks.REDIST.parts[0], path="../x"),)}),
        (plans.REDIST, locks.REDIST, {"parts": (replace(locks.REDIST.parts[0], path="/x"),)}),
        (plans.REDIST, locks.REDIST, {"parts": (replace(locks.REDIST.parts[0], path="a b"),)}),
        (plans.REDIST, locks.REDIST, {"parts": (replace(locks.REDIST.parts[0], sha256="1"),)}),
    ],
)
def test_a_lock_that_nobody_made_is_refused(
    plan: Plan, lock: Lock, changes: dict[str, object]
) -> None:
    with pytest.raises(InputError):
        render(plan, replace(lock, **changes))


@pytest.mark.parametrize(
    "changes",
    [{"url": "https://x/$(reboot)"}, {"never": ("x y",)}, {"never": ("/^(a|b)$/",)}],
)
def test_an_archive_that_nobody_planned_is_refused(changes: dict[str, object]) -> None:
    archive = replace(plans.APT.layout.archive, **changes)
    with pytest.raises(InputError):
        render(replace(plans.APT, layout=Layout(archive=archive)), locks.APT)


def test_a_plan_for_a_host_is_not_rendered() -> None:
    with pytest.raises(NoPlanError, match="for a host"):
        render(replace(plans.WHEELS, where="host"), None)


@pytest.mark.parametrize(
    "changes",
    [
        {"image": ImageChoice(ref="debian\nRUN evil")},
        {"image": ImageChoice(ref="debian --platform=x")},
        {"apt": ("gcc;reboot",)},
        {"apt": ("-o=Dpkg::x",)},
        {"packages": ("-r /etc/passwd",)},
        {"packages": ("x @ https://evil.example/x.whl",)},
        {"layout": Layout(prefix="../../etc")},
        {"layout": Layout(dummies=("x'; reboot",))},
        {"layout": Layout(components=("main/; reboot",))},
        {"env": Pairs({"A=B": "x"})},
        {"arch": "riscv64"},
        {"cuda": "13\n0"},
        {"cc": ("9.0 x",)},
        {"run": RunFlags(docker=("--privileged",))},
        {"run": RunFlags(podman=("-v", "/:/host"))},
    ],
)
def test_a_plan_that_nobody_planned_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(InputError):
        render(replace(plans.WHEELS, **changes), None)


def unquoted(value: str) -> str:
    """What a Dockerfile makes of a double-quoted word."""
    return re.sub(r"\\(.)", r"\1", value)


@settings(deadline=None)
@given(st.text())
def test_no_text_of_a_plan_breaks_out(foreign: str) -> None:
    plan = replace(
        plans.WHEELS,
        env=Pairs({"FOREIGN": foreign}),
        findings=(Finding(id="x", severity="warn", says=foreign, why=foreign),),
    )
    context = render(plan, None)
    shown = "".join(c if c.isprintable() else " " for c in foreign)
    lines = text(context, "Dockerfile")
    plain = dockerfile(plans.WHEELS, None)
    assert len(lines.splitlines()) <= len(plain.splitlines())
    value = re.search(r'^ +FOREIGN="((?:[^"\\]|\\.)*)"$', lines, re.MULTILINE)
    assert value is not None
    assert unquoted(value[1]) == shown
    assert json.loads(text(context, ".devcontainer/devcontainer.json"))["runArgs"]
    assert list(yaml.safe_load(text(context, "compose.yaml"))["services"]) == ["cuda"]
