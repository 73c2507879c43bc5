"""Names of images: what a mirror is asked for, and what a Dockerfile then says."""

import pytest

from envbuild.engines import names
from envbuild.io.net import Net

HEX = "3a8a1944dde41c9615342bd7be743cd2a7f67bc16a847915d893b175a581485d"
PINNED = f"docker.io/library/debian:bookworm@sha256:{HEX}"


@pytest.mark.parametrize(
    ("ref", "mirror", "wanted"),
    [
        (PINNED, "127.0.0.1:5077", f"127.0.0.1:5077/library/debian@sha256:{HEX}"),
        ("debian:trixie", "m.example/hub/", "m.example/hub/library/debian:trixie"),
        ("nvidia/cuda:12.9.1-devel-ubuntu24.04", "m:1", "m:1/nvidia/cuda:12.9.1-devel-ubuntu24.04"),
        ("debian", "m:1", "m:1/library/debian:latest"),
        ("docker.io/debian", "m:1", "m:1/library/debian:latest"),
        ("ghcr.io/x/y:1", "m:1", None),
        ("localhost/x:1", "m:1", None),
        ("127.0.0.1:5000/x", "m:1", None),
        (PINNED, None, None),
    ],
)
def test_a_mirror_serves_the_repositories_of_one_registry(
    ref: str, mirror: str | None, wanted: str | None
) -> None:
    assert names.mirrored(ref, Net(registry_mirror=mirror)) == wanted


def test_an_image_is_known_under_its_own_name_or_the_one_we_gave_it() -> None:
    assert names.local_names("a/b:1") == ("a/b:1",)
    assert names.local_names(PINNED) == (
        PINNED, f"envbuild.local/base:{HEX}", f"envbuild.local/index:{HEX}",
    )  # fmt: skip
    assert names.digest_of(PINNED) == f"sha256:{HEX}"
    assert names.digest_of("127.0.0.1:5077/a/b:1") is None


def test_only_the_from_lines_of_this_base_change() -> None:
    text = (
        f"FROM {PINNED} AS a\n"
        f"from --platform=linux/amd64 {PINNED}\n"
        f"FROM {PINNED}0\n"
        f"LABEL base={PINNED}\n"
        f'RUN echo "FROM {PINNED}"\n'
        "FROM a\n"
    ).encode()
    local = names.local_base(f"sha256:{HEX}")
    assert names.rebase(text, PINNED, local).decode() == (
        f"FROM {local} AS a\n"
        f"from --platform=linux/amd64 {local}\n"
        f"FROM {PINNED}0\n"
        f"LABEL base={PINNED}\n"
        f'RUN echo "FROM {PINNED}"\n'
        "FROM a\n"
    )
    assert local == f"envbuild.local/base:{HEX}"
