"""The measurers of frameworks and of the packages around them."""

from envbuild.matrix.vendor.companions import PAIRS
from envbuild.matrix.vendor.packages import CUDNN, PACKAGES
from envbuild.matrix.vendor.torch import TORCH
from envbuild.matrix.vendor.triton import TRITON

MEASURERS = (TORCH, PAIRS, TRITON, PACKAGES, CUDNN)
