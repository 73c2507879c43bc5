"""A failed build names the cause where a known text of its log tells it."""

import pytest

from envbuild.advice.built import explained
from envbuild.engines.failures import failure
from envbuild.errors import BuildError

STEP = '#9 [4/4] RUN pip install flash-attn\n#9 {}\n#9 ERROR: process "/bin/sh -c pip" did not complete successfully: exit code: 1\n'  # noqa: E501


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("1.2 nvcc error   : 'cicc' died due to signal 9 (Kill signal)", "MAX_JOBS"),
        ("1.2 RuntimeError: Ninja is required to load C++ extensions", "pip install ninja"),
        ("1.2 nvcc fatal   : Unsupported gpu architecture 'compute_60'", "envbuild plan"),
        ("1.2 /usr/bin/ld: cannot find -lcudart: No such file or directory", "envbuild plan"),
        ("1.2 E: Conflicting values set for option Signed-By regarding source x", "sources.list.d"),
        ("1.2 OSError: CUDA_HOME environment variable is not set.", "envbuild plan"),
    ],
)
def test_a_known_text_of_a_build_is_explained(line: str, fix: str) -> None:
    error = failure("docker", STEP.format(line))
    assert isinstance(error, BuildError)
    assert fix in error.fix
    assert "mend that step" not in error.fix


def test_an_unknown_one_stays_the_steps_own() -> None:
    error = failure("docker", STEP.format("1.2 assertion failed"))
    assert "mend that step" in error.fix
    assert explained("nothing that is known") is None
