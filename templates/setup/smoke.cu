// Adds a million numbers on the GPU, checks every call and every sum, and tells three versions apart.
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                          \
  do {                                                                                       \
    cudaError_t error = (call);                                                              \
    if (error != cudaSuccess) {                                                              \
      std::printf("FAIL %s: %s (%d)\n", #call, cudaGetErrorString(error), (int)error);      \
      return 1;                                                                              \
    }                                                                                        \
  } while (0)

__global__ void add(const int *a, const int *b, int *sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}

int main() {
  const int n = 1 << 20;
  const size_t size = n * sizeof(int);
  std::vector<int> a(n), b(n), sum(n);
  for (int i = 0; i < n; i++) {
    a[i] = i;
    b[i] = 2 * i;
  }
  int driver = 0, runtime = 0, *device_a, *device_b, *device_sum;
  cudaDeviceProp card;
  CHECK(cudaDriverGetVersion(&driver));
  CHECK(cudaRuntimeGetVersion(&runtime));
  CHECK(cudaGetDeviceProperties(&card, 0));
  CHECK(cudaMalloc(&device_a, size));
  CHECK(cudaMalloc(&device_b, size));
  CHECK(cudaMalloc(&device_sum, size));
  CHECK(cudaMemcpy(device_a, a.data(), size, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(device_b, b.data(), size, cudaMemcpyHostToDevice));
  add<<<(n + 255) / 256, 256>>>(device_a, device_b, device_sum, n);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(sum.data(), device_sum, size, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++)
    if (sum[i] != 3 * i) {
      std::printf("FAIL sum[%d] is %d, not %d\n", i, sum[i], 3 * i);
      return 1;
    }
  CHECK(cudaFree(device_a));
  CHECK(cudaFree(device_b));
  CHECK(cudaFree(device_sum));
  std::printf("ok %s (%d.%d): driver up to CUDA %d.%d, toolkit CUDA %d.%d\n", card.name, card.major, card.minor,
              driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
  return 0;
}
