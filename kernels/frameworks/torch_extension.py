"""A C++/CUDA extension, built in the image the way packages build theirs, then loaded and run."""

import os
import shutil
import sys

import envbuild_say as it

COUNT = (1 << 20) + 3
HERE = os.path.dirname(os.path.abspath(__file__))


def built(into):
    """Path of the finished library."""
    from setuptools import Distribution
    from torch.utils.cpp_extension import BuildExtension, CUDAExtension

    os.makedirs(into, exist_ok=True)
    for name in ("add_module.cpp", "add_kernel.cu"):
        # Objects are put beside their sources, and this folder is read-only.
        shutil.copy(os.path.join(HERE, name), into)
    os.chdir(into)
    module = CUDAExtension("envbuild_extension", ["add_module.cpp", "add_kernel.cu"])
    made = Distribution({"name": "envbuild_extension", "ext_modules": [module]})
    made.cmdclass = {"build_ext": BuildExtension.with_options(no_python_abi_suffix=True)}
    command = made.get_command_obj("build_ext")
    command.build_lib, command.build_temp = into, os.path.join(into, "objects")
    command.ensure_finalized()
    command.run()
    return command.get_ext_fullpath("envbuild_extension")


def part():
    it.doing("import torch")
    import torch

    try:
        import setuptools  # noqa: F401
    except ImportError:
        raise it.Missing("setuptools, with which extensions are built") from None
    from torch.utils import cpp_extension

    if not cpp_extension.CUDA_HOME:
        raise it.Missing("a CUDA toolkit (no nvcc on PATH, no CUDA_HOME)")
    if not any(shutil.which(name) for name in (os.environ.get("CXX", ""), "c++", "g++") if name):
        raise it.Missing("a C++ compiler")
    listed = os.environ.get("TORCH_CUDA_ARCH_LIST", "")
    it.say("toolkit", path=cpp_extension.CUDA_HOME, target=listed)
    it.doing("build the extension")
    sys.stdout.flush()
    # What compilers and ninja write to the output is not part of the answer.
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        path = built(sys.argv[2])
    finally:
        os.dup2(kept, 1)
    it.doing("load the extension")
    torch.ops.load_library(path)
    add = torch.ops.envbuild.add
    it.doing("run the extension")
    x = torch.randint(0, 1 << 20, (2, COUNT), generator=torch.manual_seed(it.SEED))
    a, b = x.to(torch.float32).cuda()
    got = add(a, b)
    torch.cuda.synchronize()
    it.equal("extension and torch", (got != a + b).sum(), COUNT)
    got[COUNT // 2] += 1
    it.equal("extension and torch", (got != a + b).sum(), COUNT, control="changed element")
    try:
        add(a, b.cpu())
        refused = ""
    except RuntimeError as e:
        refused = it.chain(e)[:300]
    it.say("refused", name="a tensor of the CPU", says=refused)


it.main(part)
