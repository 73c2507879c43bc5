"""The base image: which bytes its reference means today."""

from envbuild.io import oci
from envbuild.io.net import Net
from envbuild.values.lock import LockedBase


def lock_base(ref: str, platform: str, net: Net) -> LockedBase:
    """The digest of the platform manifest behind a reference; the reference stays canonical.

    Args:
        ref: ``docker.io/library/debian:trixie``.
        platform: ``linux/amd64``.
        net: mirror, CA.

    Raises:
        MachineError: the registry does not answer, or does not have it for this platform.
        StaleError: what came is not what its digest says.
    """
    manifest = oci.resolve(ref, platform, net)
    return LockedBase(ref=ref.partition("@")[0], digest=manifest.digest, platform=platform)
