"""What in an image gives anybody more rights than he has, looked for as root in the image."""

import shutil
import subprocess

from envbuild.engines import names
from tests.integration.corridor import Cli

# Sticky folders (/tmp) are meant to be written by all; of a link only its target's mode counts.
_OPEN = r"-perm -0002 ! -type l ! \( -type d -perm -1000 \)"
_SET = "-type f -perm /6000"
_LIBRARY = "/lib/x86_64-linux-gnu/libcap.so.2"


def rights(docker: str, ref: str) -> set[str]:
    """Files with such rights, as ``open /path``.

    ``open``: all may write it; ``set``: it changes who runs it; ``able``: it has capabilities.
    """
    getcap = shutil.which("getcap", path="/usr/sbin:/sbin:/usr/bin")
    assert getcap, "libcap2-bin is not installed"
    script = (
        f"find / -xdev {_OPEN} -printf 'open %p\\n'; "
        f"find / -xdev {_SET} -printf 'set %p\\n'; "
        "LD_LIBRARY_PATH=/looking /looking/getcap -r / 2>/dev/null | sed 's/^/able /; s/ [^ ]*$//'"
    )
    argv = [docker, "run", "--rm", "--network=none", "--user=0", "--entrypoint=sh"]
    for source in (getcap, _LIBRARY):
        argv += ["-v", f"{source}:/looking/{source.rpartition('/')[2]}:ro"]
    done = subprocess.run(
        [*argv, ref, "-c", script], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return {line for line in done.stdout.splitlines() if " /looking" not in line}


def beyond_base(cli: Cli) -> set[str]:
    """What the image of a workspace has of that beyond the base of its lock."""
    base = cli.lock().runtime if cli.image().labels.get("envbuild.stage") == "runtime" else None
    base = base or cli.lock().base
    assert base is not None
    return rights(cli.docker, cli.image().ref) - rights(cli.docker, names.local_base(base.digest))
