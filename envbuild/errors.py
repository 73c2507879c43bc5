"""The one exception tree: each class carries its exit code (DESIGN: exit codes are one table)."""


class EnvbuildError(Exception):
    """What happened, why, and what to do about it.

    Args:
        what: one sentence that names the thing and what is wrong with it.
        why: the cause, where it is known.
        fix: what the reader can do next.
    """

    exit_code = 1

    def __init__(self, what: str, *, why: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        """All three parts, a line each, empty ones left out."""
        lines = [self.what]
        if self.why:
            lines.append(f"why   {self.why}")
        if self.fix:
            lines.append(f"do    {self.fix}")
        return "\n".join(lines)


class InputError(EnvbuildError):
    """A flag, file or name that cannot be used."""

    exit_code = 2


class NoPlanError(EnvbuildError):
    """The request cannot be met by any row of the matrices."""

    exit_code = 3


class MachineError(EnvbuildError):
    """Machine, engine, network or disk: the same request may work elsewhere or later."""

    exit_code = 4


class BuildError(EnvbuildError):
    """The engine ran the build and the build failed."""

    exit_code = 5


class ImageError(EnvbuildError):
    """The image itself is at fault."""

    exit_code = 6


class StaleError(EnvbuildError):
    """Something was checked against its record and differs (lock, digest, signature)."""

    exit_code = 7


class InconclusiveError(EnvbuildError):
    """Measured, but no verdict can be given."""

    exit_code = 8


class SuiteError(EnvbuildError):
    """The suite proved nothing: a control stayed green or no check ran."""

    exit_code = 9


class InterruptedByUser(EnvbuildError):
    """Ctrl-C or SIGTERM."""

    exit_code = 130
