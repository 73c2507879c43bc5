"""cuDNN through torch: a convolution in each dtype, and which cuDNN that was."""

import envbuild_say as it

BATCH, CHANNELS, SIDE, FILTERS = 2, 16, 33, 48


def part():
    it.doing("import torch")
    import torch
    import torch_near

    cudnn, conv = torch.backends.cudnn, torch.nn.functional.conv2d
    it.doing("load cuDNN")
    version = cudnn.version() or 0
    with cudnn.flags(enabled=False):
        off = cudnn.is_acceptable(torch.ones(1, device="cuda"))
    on = cudnn.is_acceptable(torch.ones(1, device="cuda"))
    it.say("cudnn", number=int(version), on=bool(on), off=bool(off))
    torch_near.products(
        torch,
        ((BATCH, CHANNELS, SIDE, SIDE), (FILTERS, CHANNELS, 3, 3)),
        lambda x, w: conv(x, w, padding=1),
        lambda w: w.transpose(2, 3).contiguous(),
    )


it.main(part)
