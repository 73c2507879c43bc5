// The CUDA half of the extension. A launch that is refused must not look like a result.
#include <cuda_runtime.h>
#include <stdexcept>

static __global__ void kernel(const float *a, const float *b, float *c, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

void envbuild_add(const float *a, const float *b, float *c, unsigned n, cudaStream_t stream)
{
    kernel<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
    cudaError_t code = cudaGetLastError();
    if (code != cudaSuccess)
        throw std::runtime_error(cudaGetErrorString(code));
}
