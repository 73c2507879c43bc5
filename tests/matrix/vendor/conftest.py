"""What the tests of measurers share."""

from pathlib import Path

import pytest

from tests.matrix.vendor.bed import Bed


@pytest.fixture
def bed(tmp_path: Path) -> Bed:
    return Bed(tmp_path)
