"""A registry that answers anything: it is read, or refused as one of our errors."""

import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envbuild.errors import EnvbuildError, MachineError, StaleError
from envbuild.io import referrers
from envbuild.io.net import Net
from tests.io.referring import (
    MANIFEST,
    SUBJECT,
    TAG,
    attach,
    fetched,
    listed,
    reference,
)
from tests.io.registry import INDEX, ROOT, Handler, Registry
from tests.lock.server import sha

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["manifests", "digest", "size", "annotations", "artifactType", "mediaType",
                 "config", "layers", "subject", "x"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)  # fmt: skip
ENTRY = st.fixed_dictionaries(
    {"digest": st.just(sha(b"{}")) | st.text(max_size=80), "size": st.integers(-1, 5) | JSON},
    optional={"mediaType": st.text(max_size=9) | JSON, "annotations": JSON, "artifactType": JSON},
)
INDEXES = st.fixed_dictionaries({"manifests": st.lists(ENTRY, max_size=3) | JSON})
BODIES = st.binary(max_size=99) | (JSON | INDEXES).map(lambda value: json.dumps(value).encode())
HEADERS = st.dictionaries(
    st.sampled_from(["Content_Type", "Link", "Location", "Docker_Content_Digest", "OCI_Subject"]),
    st.sampled_from([INDEX, '<x>; rel="next"', f"<{ROOT}referrers/x>; rel=next", "<", "http://["])
    | st.text(st.characters(codec="latin-1", exclude_categories=["C"]), max_size=20),
)
WHATEVER = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@WHATEVER
@given(data=st.data())
def test_a_registry_may_answer_anything(registry: Registry, data: st.DataObject) -> None:
    answers = data.draw(
        st.lists(st.tuples(st.sampled_from([200, 201, 202, 404, 400]), BODIES, HEADERS), min_size=1)
    )
    turn = [0]

    def anything(one: Handler) -> bool:
        status, body, headers = answers[turn[0] % len(answers)]
        turn[0] += 1
        one.body()
        one.answer(status, body, **headers)
        return True

    registry.fault = anything
    assert code(attach, registry) in {0, 4, 7}
    assert code(fetched, registry) in {0, 4, 7}


def code(act: Callable[[Registry], object], registry: Registry) -> int:
    """The exit code that an errand would give; an error that is not ours is raised."""
    try:
        act(registry)
    except EnvbuildError as e:
        return e.exit_code if e.what else 1
    return 0


@WHATEVER
@given(body=BODIES)
def test_an_index_is_read_or_refused_and_never_overwritten(registry: Registry, body: bytes) -> None:
    registry.put(TAG, body)
    try:
        before = {one.digest for one in listed(registry)}
        attach(registry)
    except MachineError:
        assert registry.manifests[TAG][1] == body
    else:
        assert {one.digest for one in listed(registry)} >= before
        written = json.loads(registry.manifests[TAG][1])
        assert [
            e for e in json.loads(body)["manifests"] or () if e not in written["manifests"]
        ] == []


@WHATEVER
@given(body=BODIES | st.just(b"[" * 100_000))
def test_a_manifest_is_read_or_refused(registry: Registry, body: bytes) -> None:
    registry.put(sha(body), body, MANIFEST)
    one = referrers.Referrer(sha(body), "", "", len(body), SUBJECT.digest)
    with pytest.raises((MachineError, StaleError)):
        referrers.fetch(reference(registry), one, Net())


# Logins.
