"""Driver, toolkit and framework runtime of a scene: three things that people take for one."""

from envbuild.advice.scene import Scene, is_version
from envbuild.values.host import Tool


def toolkit(scene: Scene) -> Tool | None:
    """The toolkit that builds use: the nvcc on PATH, else the first in the usual folders."""
    host, image = scene.host, scene.image
    nvcc = [t for t in (*(image.compilers if image else ()), *host.compilers) if t.name == "nvcc"]
    return next(iter((*nvcc, *(image.toolkits if image else ()), *host.toolkits)), None)


def named(tool: Tool) -> str:
    """Its release and where it is."""
    return " ".join(
        filter(None, (tool.version or "version not known", tool.path and f"({tool.path})"))
    )


def runtime(scene: Scene) -> str | None:
    """``torch 2.8.0+cu128 with CUDA 12.8``, of the image."""
    tools = {t.name: t.version for t in (scene.image.framework if scene.image else ()) if t.version}
    cuda = tools.get("torch.cuda")
    if not tools:
        return None
    named = next((f"{n} {v}" for n, v in tools.items() if n != "torch.cuda"), "torch")
    return named + (f" with CUDA {cuda}" if cuda else "")


def runtime_cuda(scene: Scene) -> str | None:
    """The CUDA that the image's framework was built with."""
    tools = {t.name: t.version for t in (scene.image.framework if scene.image else ())}
    cuda = tools.get("torch.cuda")
    return cuda if cuda and is_version(cuda) else None


def torch_release(scene: Scene) -> str | None:
    """The release of the image's torch, without its variant."""
    tools = {t.name: t.version for t in (scene.image.framework if scene.image else ())}
    version = (tools.get("torch") or "").partition("+")[0]
    return version if is_version(version) else None


def torch_version(scene: Scene) -> str | None:
    """The version of the image's torch with its variant, ``2.8.0+cu126``."""
    tools = {t.name: t.version for t in (scene.image.framework if scene.image else ())}
    return tools.get("torch")
