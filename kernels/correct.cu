/* What suite `correct` runs on every device; tensor8.cu and tensor4.cu are for newer ones. */
#include "atomics.cu"
#include "numerics.cu"

#if __CUDA_ARCH__ >= 700
#include "tensor.cu"
#endif
