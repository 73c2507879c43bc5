"""What a registry has about an image: its digests, its labels, and what is attached to it."""

import re
from collections.abc import Iterator

import msgspec

from envbuild.attest.verify import About, Found
from envbuild.errors import EnvbuildError, MachineError
from envbuild.io import oci, referrers
from envbuild.io.net import Net
from envbuild.values.codec import Pairs

#: Bytes of all that is attached to one image: whoever may push may attach without end.
MOST = 128 << 20
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)


class _Config(msgspec.Struct):
    labels: dict[str, str] | None = msgspec.field(name="Labels", default=None)


class _Image(msgspec.Struct):
    config: _Config | None = None


def about(ref: str, platform: str, net: Net) -> tuple[About, tuple[Found, ...]]:
    """An image and everything that is attached to it.

    Args:
        ref: reference in a registry, or a bare digest, about which no registry is asked.
        platform: ``linux/amd64``; counts where the reference is an index.
        net: how the registry is reached.

    Raises:
        InputError: not a reference.
        MachineError: the registry does not answer, or does not have it.
        StaleError: bytes are not what their digest says.
    """
    if _DIGEST.fullmatch(ref):
        return About(ref, (ref,)), ()
    manifest = oci.resolve(ref, platform, net)
    data = b"".join(oci.blob(manifest.reference, manifest.config, net))
    image = About(ref, (manifest.digest, manifest.config), _labels(data, ref))
    return image, tuple(_attached(oci.parse(ref), manifest.digest, net))


def _attached(reference: oci.Reference, digest: str, net: Net) -> Iterator[Found]:
    left = MOST
    for one in referrers.referrers(reference, digest, net):
        if one.artifact_type != referrers.STATEMENT:
            continue
        data, fault = b"", ""
        try:
            data = referrers.fetch(reference, one, net, left)
            left -= len(data)
        except EnvbuildError as e:
            # Anybody may attach anything: what cannot be had is evidence of nothing.
            fault = e.what
        yield Found(one.digest[:19], data, named=False, fault=fault)


def _labels(config: bytes, ref: str) -> Pairs:
    try:
        found = msgspec.json.decode(config, type=_Image).config
    except (msgspec.DecodeError, UnicodeError, RecursionError) as e:
        what = f"the config of {ref} cannot be read"
        raise MachineError(what, why=str(e), fix="push the image again") from e
    return Pairs((found.labels if found else None) or {})
