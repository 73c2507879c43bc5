"""torch.compile: Inductor and Triton make a kernel inside the image, and its numbers are right."""

import envbuild_say as it

ROWS, COLUMNS = 1024, 768


def fused(x, y):
    """Elementwise work and a reduction, which Inductor puts into one kernel."""
    import torch

    return torch.sigmoid(x * y + 0.5).sum(dim=-1)


def unlike(x, y):
    """What the control computes instead."""
    import torch

    return torch.sigmoid(x * y + 0.25).sum(dim=-1)


def part():
    it.doing("import torch")
    import torch

    if not hasattr(torch, "compile"):
        raise it.Missing("torch.compile (torch %s is older than 2.0)" % torch.__version__)
    torch.manual_seed(it.SEED)
    x, y = torch.rand(2, ROWS, COLUMNS, dtype=torch.float64) * 2 - 1
    x, y = x.float(), y.float()
    want = fused(x.double(), y.double())

    def against(function, control=""):
        error = (function(x.cuda(), y.cuda()).cpu().double() - want).abs() / want
        it.near("compiled", error.max(), error.numel(), control=control)

    it.doing("torch.compile")
    from torch._inductor import metrics

    metrics.reset()
    against(torch.compile(fused))
    it.say("kernels", name="compiled", count=metrics.generated_kernel_count)
    metrics.reset()
    against(torch.compile(unlike, backend="eager"), control="another function")
    it.say("kernels", name="eager", count=metrics.generated_kernel_count)


it.main(part)
