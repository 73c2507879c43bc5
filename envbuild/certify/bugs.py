"""The kernels that tools are tried on: a clean one, and one planted bug of each kind.

Their entry points carry the run's nonce, so that no report from before can name one of them.
"""

from envbuild.certify.seen import Seen
from envbuild.certify.steps import Bench
from envbuild.errors import EnvbuildError

_UNNAMED = b"0" * 16  # what `kernels/bugs.cu` is compiled with, as long as a nonce
_FILE = "bugs.named.fatbin"


def kernel(seen: Seen, name: str) -> str:
    """The entry point of this run."""
    return f"envbuild_{name}_{seen.nonce}"


def launch(bench: Bench, seen: Seen, name: str) -> tuple[str, ...]:
    """The command that launches one of them once; a command line never has its whole name.

    Raises:
        EnvbuildError: the prebuilt code is not what was shipped.
    """
    path = bench.probes / _FILE
    if not path.exists():
        code = (bench.probes / "bugs.fatbin").read_bytes()
        if _UNNAMED not in code or len(seen.nonce) != len(_UNNAMED):
            what = "kernels/prebuilt/bugs.fatbin has no place for the run's number"
            raise EnvbuildError(what, fix="run script/build-probes")
        path.write_bytes(code.replace(_UNNAMED, seen.nonce.encode("ascii")))
        path.chmod(0o644)
    argv = ("launch", "--nonce", seen.nonce, "--code", bench.probe(_FILE), "--kernel", name)
    gpu = seen.choice.gpu
    named = gpu is not None and gpu.uuid is not None and gpu.uuid.startswith("GPU-")
    return (bench.probe("probe"), *argv, *(("--uuid", gpu.uuid or "") if gpu and named else ()))
