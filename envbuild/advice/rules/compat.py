"""Driver files that an image brings, and what the container toolkit does with them."""

from collections.abc import Iterator

from envbuild.advice.fixes import container, features
from envbuild.advice.installing import release
from envbuild.advice.rows import where
from envbuild.advice.rules import Advice, Rule, advice
from envbuild.advice.scene import Scene
from envbuild.host.access import access_of, containers, is_snap, taken
from envbuild.matrix.load import load, load_reference
from envbuild.planner.holes import has, least
from envbuild.planner.ranges import numbers
from envbuild.planner.table import cite
from envbuild.values.finding import Step

_NEEDED = {"compute", "utility"}


def newer_libcuda(scene: Scene) -> Iterator[Advice]:
    """An image's own libcuda is put first, on a card that forward compatibility does not serve."""
    seen = scene.saw("cuda-804")
    brought = _newer_than_driver(scene)
    cards = [card for _, card in scene.cards if card.forward_compat is False]
    if not cards or (seen is None and brought is None):
        return
    rows = load_reference()
    row = features.feature(rows, "nvidia-container-toolkit", "enable-cuda-compat-hook")
    plan = scene.plan()
    run = Step(
        why=f"an image that runs on this driver: CUDA {plan.cuda}" if plan is not None else
        "an image that runs on this driver",
        argv=("envbuild", "plan"),
        check="envbuild certify of that image passes smoke",
    )  # fmt: skip
    purge = Step(
        why="in an image of yours: take its own libcuda out; the driver's is then loaded",
        text='in the Dockerfile: RUN apt-get purge -y "cuda-compat-*"',
        check="the program starts; error 35 or 222 then means that the driver is too old for it",
    )
    what = f"{brought}, newer than this driver" if brought is not None else "cuda-compat"
    says = f"the image's own libcuda ({what}) {'was' if seen else 'will be'} loaded on "
    why = f"It serves data-centre cards. In the container {row.says}; it does not ask which card "
    yield advice(
        "forward-compat",
        "error" if seen else "warn",
        f"{says}{cards[0].name or cards[0].cc}, which forward compatibility does not serve "
        f"(error 804{'' if seen else ' when a program starts'})",
        why=f"{why}it is. {where(seen) if seen else ''}",
        steps=(run, purge),
        source=cite(row, f"{row.engine}-{row.feature}"),
        explains=("cuda-804",),
    )


def _newer_than_driver(scene: Scene) -> str | None:
    """What an image brings as a libcuda of its own, where that is newer than the driver here.

    WSL and Jetson have drivers of another kind, which the hook does not replace.
    """
    driver = scene.driver_version
    if scene.image is None or driver is None or not scene.native:
        return None
    packages = [(n, v) for n, v in scene.image.apt if n.startswith("cuda-compat-")]
    paths = (*scene.image.drivers, *(one.path or "" for one in scene.image.resolves))
    files = [(path, path.rpartition(".so.")[2]) for path in paths if "/compat/" in path]
    for name, text in (*packages, *files):
        version = release(text.rpartition(":")[2].partition("-")[0])
        if version is not None and numbers(version)[0] > numbers(driver)[0]:
            return f"{name} {version}" if version not in name else name
    return None


def drivers_in_image(scene: Scene) -> Iterator[Advice]:
    """Driver files that were baked into an image compete with those that are mounted."""
    found = scene.image.drivers if scene.image is not None else ()
    if not found:
        return
    seen = scene.saw("cuda-803", "nvml-mismatch", "cuda-100", "cuda-999")
    debian = {"libcuda1", "libnvidia-ml1"} & {name for name, _ in scene.image.apt} \
        if scene.image is not None else set()  # fmt: skip
    why = "A container gets the driver of its machine; a second one in the image is of another "
    why += "version sooner or later: error 803, or NVML's mismatch."
    if debian:
        why += f" {', '.join(sorted(debian))} came along with a toolkit of the distribution."
    yield advice(
        "driver-in-image",
        "error" if seen else "warn",
        f"the image holds files of a driver: {', '.join(found[:4])}",
        why=f"{why} {where(seen) if seen else ''}",
        steps=(
            Step(
                why="the toolkit's packages without the driver that they drag in",
                argv=("envbuild", "render"),
                check="envbuild certify --require toolchain: no driver is inside",
            ),
        ),
        source="errors/driver-dragged-in sourced",
        explains=("cuda-803", "nvml-mismatch", "cuda-999"),
    )


def variables_of_image(scene: Scene) -> Iterator[Advice]:
    """Where variables ask for the GPU, an image without them gets none."""
    image, host = scene.image, scene.host
    if image is None or not host.engines:
        return
    visible, able = (
        image.env.get(f"NVIDIA_{name}") for name in ("VISIBLE_DEVICES", "DRIVER_CAPABILITIES")
    )
    lacks = _NEEDED - set((able or "").split(","))
    asked = access_of(host, "docker") == "nvidia-runtime"
    missing = []
    if asked and visible in {None, "", "void", "none"}:
        missing.append("NVIDIA_VISIBLE_DEVICES=all")
    if able and able != "all" and lacks:
        missing.append("NVIDIA_DRIVER_CAPABILITIES=compute,utility")
    if not missing:
        return
    seen = scene.saw("cuda-100", "torch-no-driver", "libcuda-stub", "nvml-not-found")
    yield advice(
        "image-variables",
        "error" if seen else "warn",
        f"the image does not ask for what CUDA needs: {' and '.join(missing)}",
        why="The container toolkit reads these variables of the image: without the first it gives "
        "no GPU, without the second not the library for CUDA or for nvidia-smi.",
        steps=(
            Step(
                why="set them when the container starts, or as ENV in the image",
                text=f"docker run {' '.join(f'-e {one}' for one in missing)} ...",
                check="nvidia-smi in it shows the card",
            ),
        ),
        source="errors/image-driver-banner sourced",
        explains=("cuda-100", "torch-no-driver", "libcuda-stub"),
    )


def holes(scene: Scene) -> Iterator[Advice]:
    """Published holes of the container toolkit; the newest alone is told, more of them warn."""
    here = containers(scene.host)
    tool = scene.host.container_toolkit
    version = release(tool.version) if tool is not None else None
    if here is None or version is None or here.remote or any(map(is_snap, taken(here))):
        return
    # An image can be started either way, whatever way the engine prefers.
    found = [h for h in load().holes if any(has(h, version, cdi=cdi) for cdi in (True, False))]
    if not found:
        return
    fixed, several = least(found), len(found) > 1
    yield advice(
        "container-toolkit-old",
        "warn" if several else "info",
        f"container toolkit {version} has published holes: {', '.join(h.cve for h in found)}",
        why=f"{found[0].says[:1].upper()}{found[0].says[1:]}: start no stranger's image with a GPU "
        f"before the update. {fixed} has none of them.",
        steps=container.update(load_reference(), here, fixed) if several else (),
        source=cite(found[0], found[0].cve),
    )


def one_version(scene: Scene) -> Iterator[Advice]:
    """The toolkit's packages must be of one version."""
    here = containers(scene.host)
    row = features.feature(load_reference(), "nvidia-container-toolkit", "one-version")
    packed = container.packages(load_reference(), here) if here is not None else None
    names = packed.packages if packed is not None else ()
    found = {n: v.partition("-")[0] for n, v in scene.host.packages if n in names}
    newest = max(found.values(), key=_release, default="")
    since = _release(row.since or "0")
    if here is None or len(set(found.values())) < 2 or _release(newest) < since:
        return
    yield advice(
        "container-toolkit-mixed",
        "warn",
        "packages of the container toolkit are of several versions: "
        + ", ".join(f"{name} {version}" for name, version in found.items()),
        why=f"{row.says[:1].upper()}{row.says[1:]}.",
        steps=container.update(load_reference(), here),
        source=cite(row, f"{row.engine}-{row.feature}"),
    )


def _release(version: str) -> tuple[int, ...]:
    return numbers(release(version) or "0")


RULES: tuple[Rule, ...] = (
    newer_libcuda,
    drivers_in_image,
    variables_of_image,
    holes,
    one_version,
)
