"""Inside the image: Python packages and the framework's own CUDA, as JSON; nothing is imported.

Standard library only, Python 3.8 and later: it runs with whatever interpreter the image has.
"""

import glob
import json
import os
import runpy
import sys
from importlib import metadata, util


def torch_build():
    """Version and CUDA of torch from its version file; importing torch takes seconds."""
    spec = util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    path = os.path.join(os.path.dirname(spec.origin), "version.py")
    found = runpy.run_path(path)
    return {"version": str(found.get("__version__")), "cuda": found.get("cuda")}


def cublas():
    """The folder of the cuBLAS that a framework's wheels bring; its loader need not know it."""
    spec = util.find_spec("nvidia")
    for place in (spec.submodule_search_locations if spec else None) or ():
        for folder in sorted(glob.glob(os.path.join(glob.escape(place), "*", "lib"))):
            if glob.glob(os.path.join(glob.escape(folder), "libcublas.so.*")):
                return folder
    return None


def main():
    packages = {}
    for found in metadata.distributions():
        name = found.metadata["Name"]
        if name:
            packages.setdefault(name.lower().replace("_", "-").replace(".", "-"), found.version)
    try:
        torch, error = torch_build(), ""
    except Exception as e:  # a broken torch is a finding, not a crash
        torch, error = None, "%s: %s" % (type(e).__name__, e)
    answer = {"python": sys.version.split()[0], "packages": packages, "torch": torch}
    print(json.dumps({**answer, "error": error, "cublas": cublas()}))


main()
