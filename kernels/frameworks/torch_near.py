"""Numbers by dtype: torch on the GPU against float64 on the CPU."""

import contextlib

import envbuild_say as it


def dtypes(torch):
    """(name, dtype of the tensors) that this device has in hardware, by torch's own word."""
    bf16, tf32 = torch.cuda.get_device_capability() >= (8, 0), None
    with contextlib.suppress(AttributeError, TypeError):
        bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
    with contextlib.suppress(AttributeError):
        tf32 = torch.cuda.is_tf32_supported()
    tf32 = bf16 if tf32 is None else tf32  # both came with the same devices
    found = [("f64", torch.float64), ("f32", torch.float32)]
    found += [("tf32", torch.float32)] if tf32 else []
    found += [("f16", torch.float16)]
    return found + ([("bf16", torch.bfloat16)] if bf16 else [])


def only(torch, name):
    """Switch off every other precision than the named one."""
    torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
    torch.backends.cudnn.allow_tf32 = name == "tf32"
    for half in ("fp16", "bf16"):
        # Sums kept in half precision are a choice of speed that has no bound of use.
        option = "allow_%s_reduced_precision_reduction" % half
        if hasattr(torch.backends.cuda.matmul, option):
            setattr(torch.backends.cuda.matmul, option, False)


def against(name, got, exact, control=""):
    """Compare in units of the sum of |products| that went into each element.

    ``exact`` is (the result in float64, those sums).
    """
    want, scale = exact
    if not got.is_cuda:
        raise RuntimeError("the result is not on the GPU")
    error = (got.cpu().double() - want).abs() / scale
    it.near(name, error.max(), error.numel(), control=control)


def products(torch, operands, apply, spoil):
    """One operation in every dtype.

    ``apply(a, b)`` is the operation, ``spoil(b)`` what its control multiplies by instead.
    """
    torch.manual_seed(it.SEED)
    a64, b64 = (torch.rand(size, dtype=torch.float64) * 2 - 1 for size in operands)
    for name, dtype in dtypes(torch):
        it.doing(name)
        only(torch, name)
        a, b = a64.to(dtype), b64.to(dtype)
        want = apply(a.double(), b.double())
        exact = (want, apply(a.double().abs(), b.double().abs()))
        against(name, apply(a.cuda(), b.cuda()), exact)
        against(name, apply(a.cuda(), spoil(b.cuda())), exact, control="wrong stride")
