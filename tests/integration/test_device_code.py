"""Device code of a real framework wheel: our reader against the vendor's own cuobjdump.

Both wheels come from the package index of this network: cuobjdump 13.5.37 (290 KB) and
cupy-cuda13x 14.2.0 (70 MB), whose three libraries hold machine code and PTX.
"""

import re
import shutil
import stat
import subprocess
import zipfile
from pathlib import Path

import pytest

from envbuild.io.net import Net
from envbuild.matrix.vendor import wheel
from envbuild.matrix.vendor.fetch import Store
from envbuild.matrix.vendor.index import Index

pytestmark = [pytest.mark.engine, pytest.mark.apart, pytest.mark.slow]


@pytest.fixture
def cuobjdump(tmp_path: Path) -> Path:
    net = Net()
    index = Index(tmp_path, net)
    file = index.one("nvidia-cuda-cuobjdump", "13.5.37")
    program = tmp_path / "cuobjdump"
    with (
        Store(tmp_path, net, index.archive).fetched(file) as path,
        zipfile.ZipFile(path) as archive,
    ):
        member = next(name for name in archive.namelist() if name.endswith("bin/cuobjdump"))
        program.write_bytes(archive.read(member))
    program.chmod(stat.S_IRWXU)
    return program


def listed(program: Path, flag: str, library: Path) -> set[str]:
    """Targets that cuobjdump names; it writes machine code for a family without the ``f``."""
    done = subprocess.run([program, flag, library], capture_output=True, text=True, check=False)
    return set(re.findall(r"\.sm_(\d+[af]?)\.(?:cubin|ptx)", done.stdout))


def test_a_framework_as_the_vendors_tool_lists_it(cuobjdump: Path, tmp_path: Path) -> None:
    net = Net()
    index = Index(tmp_path, net)
    file = index.one("cupy-cuda13x", "14.2.0")
    seen = 0
    with Store(tmp_path, net, index.archive).fetched(file) as path:
        for library in wheel.read(path).libraries:
            if not library.fatbins:
                continue
            with zipfile.ZipFile(path) as archive, (tmp_path / "lib.so").open("wb") as out:
                shutil.copyfileobj(archive.open(library.name), out)
            sass = {target.removesuffix("f") for target, _ in library.sass}
            assert sass == listed(cuobjdump, "--list-elf", tmp_path / "lib.so")
            ptx = {target for target, _ in library.ptx}
            assert ptx == listed(cuobjdump, "--list-ptx", tmp_path / "lib.so")
            seen += 1
    assert seen == 3
