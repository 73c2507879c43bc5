"""What both probes of cuda-python add: integers, without any library."""

import array
import operator

import envbuild_say as it

COUNT, THREADS = (1 << 18) + 3, 256
SOURCE = r"""
extern "C" __global__ void add(const int *a, const int *b, int *c, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
"""


def inputs():
    """Two arrays and their sums."""
    a = array.array("i", ((it.SEED + 7 * i) % 1000003 for i in range(COUNT)))
    b = array.array("i", ((it.SEED + 11 * i) % 1000033 for i in range(COUNT)))
    return a, b, array.array("i", map(operator.add, a, b))


def wrong(got, want):
    """Elements that differ."""
    return sum(map(operator.ne, got, want))
