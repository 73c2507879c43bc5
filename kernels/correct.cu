/* All of suite `correct` that one compilation can make for a plain target. */
#include "atomics.cu"
#include "numerics.cu"

#if __CUDA_ARCH__ >= 700
#include "tensor.cu"
#endif
/* PTX 8.4 */
#if __CUDA_ARCH__ >= 890 && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1204
#include "tensor8.cu"
#endif
