"""cuBLAS through torch: a product in each dtype."""

import envbuild_say as it

M, N, K = 256, 320, 128


def part():
    it.doing("import torch")
    import torch
    import torch_near

    torch_near.products(
        torch,
        ((M, K), (K, N)),
        torch.matmul,
        lambda b: b.reshape(N, K).t(),
    )


it.main(part)
