"""Names of images: pinned, at a mirror, and as an engine knows a base that came from a mirror."""

import re

LOCAL_BASE = "envbuild.local/base"


def digest_of(ref: str) -> str | None:
    """``sha256:...`` of a reference that is pinned, else None."""
    return ref.partition("@")[2] or None


def _split(ref: str) -> tuple[str, str, str]:
    """Repository, tag and digest; empty where not said. A port is no tag."""
    name, _, digest = ref.partition("@")
    head, slash, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    return head + slash + last, tag, digest


def canonical(ref: str) -> str:
    """The reference with its registry: what names none is docker.io's, as docker reads it."""
    first, slash, _ = ref.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return ref
    return f"docker.io/{ref}" if slash else f"docker.io/library/{ref}"


def bare(ref: str) -> str:
    """The reference by digest alone where it is pinned: a tag beside it would only mislead."""
    repo, _, digest = _split(ref)
    return f"{repo}@{digest}" if digest else ref


def mirrored(ref: str, mirror: str | None) -> str | None:
    """The same image at a mirror of docker.io, None where the mirror does not serve it.

    A digest wins over the tag: the mirror is asked for exactly these bytes.
    """
    if not mirror:
        return None
    repo, tag, digest = _split(canonical(ref))
    registry, _, repo = repo.partition("/")
    if registry not in {"docker.io", "index.docker.io"}:
        return None
    if "/" not in repo:
        repo = f"library/{repo}"
    return f"{mirror.rstrip('/')}/{repo}" + (f"@{digest}" if digest else f":{tag or 'latest'}")


def local_base(digest: str) -> str:
    """The name under which a base that came from a mirror is known to the engine."""
    return f"{LOCAL_BASE}:{digest.removeprefix('sha256:')}"


def rebase(dockerfile: bytes, ref: str, name: str) -> bytes:
    """The Dockerfile with ``FROM ref`` read as ``FROM name``; nothing else changes."""
    pattern = rb"(?mi)^(FROM\s+(?:--platform=\S+\s+)?)" + re.escape(ref.encode()) + rb"(?=\s|$)"
    return re.sub(pattern, lambda m: m.group(1) + name.encode(), dockerfile)
