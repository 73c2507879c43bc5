"""Names of images: what a mirror is asked for, and what a Dockerfile then says."""

import pytest

from envbuild.engines import names

HEX = "3a8a1944dde41c9615342bd7be743cd2a7f67bc16a847915d893b175a581485d"
PINNED = f"docker.io/library/debian:bookworm@sha256:{HEX}"


@pytest.mark.parametrize(
    ("ref", "mirror", "wanted"),
    [
        (PINNED, "127.0.0.1:5077", f"127.0.0.1:5077/library/debian@sha256:{HEX}"),
        ("debian:trixie", "m.example/hub/", "m.example/hub/library/debian:trixie"),
        ("nvidia/cuda:12.9.1-devel-ubuntu24.04", "m", "m/nvidia/cuda:12.9.1-devel-ubuntu24.04"),
        ("debian", "m", "m/library/debian:latest"),
        ("docker.io/debian", "m", "m/library/debian:latest"),
        ("ghcr.io/x/y:1", "m", None),
        ("localhost/x:1", "m", None),
        ("127.0.0.1:5000/x", "m", None),
        (PINNED, None, None),
        (PINNED, "", None),
    ],
)
def test_a_mirror_serves_the_repositories_of_one_registry(
    ref: str, mirror: str | None, wanted: str | None
) -> None:
    assert names.mirrored(ref, mirror) == wanted


def test_a_digest_wins_over_the_tag_beside_it() -> None:
    assert names.bare(PINNED) == f"docker.io/library/debian@sha256:{HEX}"
    assert names.bare("127.0.0.1:5077/a/b:1") == "127.0.0.1:5077/a/b:1"
    assert names.digest_of(PINNED) == f"sha256:{HEX}"
    assert names.digest_of("127.0.0.1:5077/a/b:1") is None


def test_short_names_are_read_as_docker_reads_them() -> None:
    assert names.canonical("debian") == "docker.io/library/debian"
    assert names.canonical("envbuild/cu130:1") == "docker.io/envbuild/cu130:1"
    assert names.canonical("localhost:5000/x") == "localhost:5000/x"


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
