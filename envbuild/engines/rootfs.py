"""A folder that holds a whole system, run as if it were an image: podman, with an overlay on it."""

from pathlib import Path

from envbuild.engines import names
from envbuild.engines.base import RunSpec
from envbuild.engines.podman import PodmanEngine
from envbuild.errors import InputError
from envbuild.io import proc
from envbuild.values.codec import Pairs, replace
from envbuild.values.image import Image


class RootfsEngine(PodmanEngine):
    """Podman with a folder in an image's place; what runs in it changes nothing there.

    Args:
        env: what an image would set; a folder says nothing of its own.
    """

    def __init__(self, env: Pairs) -> None:
        super().__init__()
        self._env = env

    def inspect(self, ref: str) -> Image:
        """The folder as an image: it has no digest, so nothing about it can be attached.

        Raises:
            InputError: the folder holds no system.
        """
        if not Path(ref).is_absolute() or not (Path(ref) / "etc").is_dir():
            what = f"{ref} is no root filesystem"
            raise InputError(what, fix="name the absolute path of a folder with etc, usr and lib")
        return Image(ref=ref, config="", platform=names.platform_here(), env=self._env)

    def run(self, ref: str, spec: RunSpec) -> proc.Completed:
        """Run one command in it; whatever it writes is gone afterwards."""
        return super().run(ref, replace(spec, env=Pairs((*self._env, *spec.env))))

    def _id(self, ref: str) -> str:
        self.inspect(ref)
        return f"{ref}:O"

    def _extra(self, kind: str, *, alone: bool = False) -> list[str]:
        return [*super()._extra(kind, alone=alone), "--rootfs"]
