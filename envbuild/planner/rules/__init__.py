"""All rules, in the order in which they are asked: facts first, wishes last.

The first rule that leaves a toolkit without a place is the one that decided about it.
"""

from envbuild.planner.rules import (
    compilers,
    driver,
    images,
    packages,
    platforms,
    targets,
    torch,
    wishes,
)

HARD = (
    platforms.right_side,
    platforms.host_system,
    platforms.flavour_there,
    platforms.flavour_compiles,
    torch.compiler_wanted,
    driver.driver_drives_card,
    platforms.one_machine,
    platforms.card_arch,
    platforms.wsl_card,
    targets.feature_in_hardware,
    targets.toolkit_target,
    platforms.jetson,
    driver.driver_floor,
    driver.tag_floor,
    platforms.place_arch,
    images.tag_exists,
    packages.package_served,
    packages.package_python,
    packages.package_beside,
    driver.package_jit,
    wishes.toolkit_released,
    wishes.base_released,
    wishes.cuda_range,
    platforms.base_os,
    # What is wrong with the base that was asked for says more than that others have the toolkit.
    compilers.glibc_clash,
    compilers.compiler_there,
    torch.python_there,
)
"""A place that one of these speaks against is out."""

BUILDS = (
    torch.torch_arch,
    torch.torch_version,
    torch.torch_released,
    torch.torch_code,
    torch.torch_jit,
    torch.torch_pair,
    torch.torch_pins,
    packages.package_torch,
    packages.torch_beside,
)
"""The same for framework builds."""

BETTER = (torch.torch_cudnn,)
"""Preferences among framework builds; they outrank a newer one."""

BEFORE = (
    driver.jit_on_driver,
    wishes.source_asked_for,
    wishes.source_proven,
    images.tag_starts,
    images.tag_kept,
    torch.plain_base,
    wishes.toolkit_maintained,
)
"""Preferences that outrank a newer toolkit, strongest first."""

AFTER = (images.tag_seen, compilers.own_compiler, wishes.base_supported)
"""Preferences among the places of the newest toolkit."""
