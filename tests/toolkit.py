"""The CUDA toolkit that tests compile with: this machine's, else what script/test-services made."""

import os
import platform
from pathlib import Path

import pytest

HOME = Path(os.environ.get("ENVBUILD_TEST_CUDA") or "/usr/local/cuda")
NVCC = HOME / "bin/nvcc"
CUDART = HOME / "lib64/libcudart.so.13"

needed = pytest.mark.skipif(
    not NVCC.exists() or platform.machine() != "x86_64",
    reason="no nvcc on this machine: script/test-services up, then . its env file",
)
