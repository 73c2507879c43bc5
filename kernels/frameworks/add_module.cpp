// The C++ half of the extension: checks its tensors, then launches the kernel on torch's stream.
// As few of torch's headers as an operator needs: all of them take half a minute to compile.
#include <ATen/ATen.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

void envbuild_add(const float *a, const float *b, float *c, unsigned n, cudaStream_t stream);

static at::Tensor add(const at::Tensor &a, const at::Tensor &b)
{
    TORCH_CHECK(a.is_cuda() && b.is_cuda(), "both tensors must be on the GPU");
    TORCH_CHECK(a.is_contiguous() && b.is_contiguous() && a.sizes() == b.sizes());
    at::Tensor c = at::empty_like(a);
    envbuild_add(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(),
                 static_cast<unsigned>(a.numel()), c10::cuda::getCurrentCUDAStream());
    return c;
}

TORCH_LIBRARY(envbuild, m)
{
    m.def("add(Tensor a, Tensor b) -> Tensor", &add);
}
