"""Every program that a step may start, by name."""

from tests.certify.simulated import compilers, fast, frameworks, runner, several, tools
from tests.certify.simulated.machine import Program

PROGRAMS: dict[str, Program] = {
    **compilers.PROGRAMS,
    **runner.PROGRAMS,
    **fast.PROGRAMS,
    **frameworks.PROGRAMS,
    **several.PROGRAMS,
    **tools.PROGRAMS,
}
