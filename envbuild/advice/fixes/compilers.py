"""Steps that bring a second host compiler, beside the one of the system."""

from envbuild.matrix.model import Os
from envbuild.values.finding import Step


def steps(os: Os, major: int) -> tuple[Step, ...]:
    """Install g++ of this major beside the system's own; empty where the system has none.

    Args:
        os: the system; its ``gccs`` are what its archive holds.
        major: ``13``.
    """
    if major not in os.gccs:
        return ()
    if os.family == "apt":
        return (
            Step(
                why="nvcc takes a host compiler of its own; the system's stays as it is",
                argv=("sudo", "apt-get", "install", "-y", f"g++-{major}"),
                check=f"g++-{major} --version",
            ),
        )
    return ()


def fitting(os: Os, most: int) -> int | None:
    """The newest compiler of the system's archive that a toolkit takes, None where it has none."""
    return max((major for major in os.gccs if major <= most), default=None)
