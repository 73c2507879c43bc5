"""CUDA graphs: warm-up, capture, replays with changed inputs, a capture that is refused."""

import envbuild_say as it

BATCH, WIDTH = 64, 256


def part():
    it.doing("import torch")
    import torch

    if not hasattr(torch.cuda, "CUDAGraph"):
        raise it.Missing("CUDA graphs (torch %s is older than 1.10)" % torch.__version__)
    torch.manual_seed(it.SEED)
    torch.backends.cuda.matmul.allow_tf32 = False
    weights = torch.rand(WIDTH, WIDTH, dtype=torch.float64).float()
    inputs = torch.rand(4, BATCH, WIDTH, dtype=torch.float64).float()
    w, x = weights.cuda(), inputs[0].cuda()

    def work():
        return torch.relu(x @ w) + 1

    def against(name, got, i, control=""):
        scale = inputs[i].double() @ weights.double() + 1  # all terms are positive
        error = (got.cpu().double() - scale).abs() / scale
        it.near(name, error.max(), error.numel(), control=control)

    it.doing("warm-up on a side stream")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    it.doing("capture")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = work()
    it.doing("replay")
    for i in (1, 2):
        x.copy_(inputs[i])
        graph.replay()
        against("replay %d" % i, out, i)
        against("replay %d" % i, out, 3 - i, control="the other input")
    x.copy_(inputs[3])
    against("replay after a refusal", out, 3, control="changed input, no replay")
    it.doing("a capture with a forbidden wait")
    says = ""
    try:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            work()
            torch.cuda.synchronize()
    except RuntimeError as e:
        says = it.chain(e)[:1000]
    it.say("refused", name="synchronize in a capture", says=says)
    it.doing("replay after the refused capture")
    graph.replay()
    against("replay after a refusal", out, 3)


it.main(part)
