"""torch's own kernels: elementwise, reduction, gather; every element compared."""

import envbuild_say as it

COUNT = (1 << 20) + 3


def part():
    it.doing("import torch")
    import torch

    it.doing("start CUDA")
    torch.cuda.init()
    major, minor = torch.cuda.get_device_capability()
    it.say("device", name=torch.cuda.get_device_name(), cc="%d.%d" % (major, minor))
    it.doing("eager kernels")
    x = torch.randint(-(1 << 20), 1 << 20, (COUNT,), generator=torch.manual_seed(it.SEED))
    x[0], order = 7, torch.randperm(COUNT)
    on_gpu, poison = x.cuda(), torch.full((COUNT,), -(1 << 40), device="cuda")
    want, out = x * 3 + 1, poison.clone()
    torch.add(on_gpu * 3, 1, out=out)
    torch.cuda.synchronize()
    got = out.cpu()
    it.equal("elementwise", (got != want).sum(), COUNT)
    got[COUNT // 2] += 1
    it.equal("elementwise", (got != want).sum(), COUNT, control="changed element")
    it.equal("elementwise", (poison.cpu() != want).sum(), COUNT, control="skipped kernel")
    it.equal("reduction", int(on_gpu.sum()) != int(x.sum()), 1)
    it.equal("reduction", int(on_gpu[1:].sum()) != int(x.sum()), 1, control="an element less")
    gathered = on_gpu[order.cuda()].cpu()
    it.equal("gather", (gathered != x[order]).sum(), COUNT)
    it.equal("gather", (gathered != x).sum(), COUNT, control="other order")


it.main(part)
