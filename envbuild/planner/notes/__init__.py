"""What a good plan still has to say: why this one, what to watch, what can go wrong."""

from envbuild.planner.notes import (
    container,
    driver,
    engine,
    host,
    l4t,
    machine,
    names,
    packages,
    sources,
    toolkit,
    windows,
)
from envbuild.planner.notes.base import Chosen
from envbuild.values.finding import Finding

__all__ = ["NOTES", "Chosen", "notes"]

NOTES = (
    toolkit.no_cc,
    toolkit.earlier_date,
    toolkit.why_this,
    toolkit.source_taken,
    toolkit.wheels_without_nvcc,
    toolkit.ptx_left_out,
    toolkit.arch_specific,
    toolkit.jit_level,
    driver.missing,
    driver.unseen,
    engine.iptables_raw,
    container.no_access,
    container.rootless,
    container.snap,
    engine.elsewhere,
    engine.cdi_unread,
    engine.gpus_by_cdi,
    engine.old_seccomp,
    container.holes,
    machine.card_not_driven,
    machine.name_note,
    names.likely_die,
    machine.partitioned,
    machine.virtual,
    machine.fabric,
    driver.last_branch,
    driver.branch_ended,
    driver.first_driver,
    driver.host_window,
    driver.require_brand,
    host.glibc_unknown,
    host.not_of_image,
    host.installed,
    driver.wsl,
    windows.windows_host,
    windows.wsl_arm,
    driver.l4t,
    driver.l4t_mounted,
    l4t.older_than_image,
    l4t.builds_elsewhere,
    packages.cudnn_floor,
    packages.package_level,
    packages.package_company,
    sources.built_on_top,
    packages.torch_compile,
    packages.triton_reach,
    packages.torch_ptx,
    packages.torch_last,
    packages.torch_every,
    packages.torch_default,
    packages.torch_unmarked,
    packages.torch_newest,
    toolkit.tensor_cores_by_die,
    toolkit.distro_driver,
    toolkit.one_prefix,
    machine.profilers,
)


def notes(chosen: Chosen) -> tuple[Finding, ...]:
    """All notes, in the order of the list."""
    return tuple(finding for make in NOTES for finding in make(chosen))
