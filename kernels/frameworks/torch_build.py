"""What torch was built for, before any of its kernels runs."""

import envbuild_say as it


def part():
    it.doing("import torch")
    import torch

    # The public get_arch_list() is empty where no GPU answers; this is what it reads.
    flags = getattr(torch._C, "_cuda_getArchFlags", None)
    version = torch.version
    it.say(
        "build",
        name="torch",
        version=str(torch.__version__),
        cuda=version.cuda or "",
        other="ROCm" if getattr(version, "hip", None) else "",
        targets=((flags() if flags else None) or "").split(),
        available=bool(torch.cuda.is_available()),
    )


it.main(part)
