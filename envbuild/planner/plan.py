"""A target into a plan: one function, no input but its arguments."""

from envbuild.matrix.model import Matrices
from envbuild.planner.one import plan_one
from envbuild.planner.table import table_of
from envbuild.planner.target import Target
from envbuild.values.plan import Fleet, Plan


def plan(target: Target, matrices: Matrices) -> Plan | Fleet:
    """The plan for a target, or with ``split`` the fewest plans that cover it.

    No plan is a plan whose outcome is ``refuse``: its findings say why and what would help.
    """
    if target.split:
        from envbuild.planner.fleet import fleet

        return fleet(target, matrices)
    return plan_one(table_of(matrices), target)
