#include <cuda/std/complex>
#include <cuda/std/array>
#include <cuda/std/optional>
#include <cuda/std/tuple>
#include <cuda/std/span>
#include <cuda/std/mdspan>
#include <cuda/std/functional>
#include <cuda/std/variant>
using C = cuda::std::complex<float>;
__device__ cuda::std::optional<int> find(cuda::std::span<const int> s, int v)
{
    for (size_t i = 0; i < s.size(); i++) if (s[i] == v) return (int)i;
    return cuda::std::nullopt;
}
__global__ void k_complex(const C *a, const C *b, C *out, const int *t, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    C z = a[i] / b[i] + cuda::std::conj(a[i]) * b[i];
    out[i] = z * cuda::std::abs(z);
    auto f = find({t, (size_t)n}, i);
    if (f) out[*f] += C(1.f, f.value());
}
__global__ void k_mdspan(const float *a, const float *b, float *c, int n)
{
    cuda::std::mdspan A(a, cuda::std::extents<int, cuda::std::dynamic_extent, 16>(n));
    cuda::std::mdspan B(b, cuda::std::extents<int, 16, cuda::std::dynamic_extent>(n));
    float s = 0;
    for (int k = 0; k < 16; k++) s += A(threadIdx.x, k) * B(k, threadIdx.y);
    cuda::std::variant<int, float> v = s;
    if (n & 1) v = (int)s;
    c[threadIdx.x * n + threadIdx.y] = cuda::std::visit([](auto x) { return (float)(x * 2); }, v);
}
