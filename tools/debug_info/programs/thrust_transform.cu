#include <thrust/device_ptr.h>
#include <thrust/transform.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/tuple.h>
#include <thrust/sequence.h>
struct F { float a; __device__ float operator()(float x, float y) const { return a * x + y; } };
struct G { __device__ float operator()(const thrust::tuple<int, float> &t) const { return thrust::get<0>(t) % 7 == 0 ? thrust::get<1>(t) : 1.0f / thrust::get<1>(t); } };
void f(float *x, float *y, int n)
{
    auto p = thrust::device_pointer_cast(x), q = thrust::device_pointer_cast(y);
    thrust::transform(thrust::device, p, p + n, q, q, F{2.0f});
    thrust::counting_iterator<int> c(0);
    thrust::transform(thrust::device, thrust::make_zip_iterator(c, p), thrust::make_zip_iterator(c + n, p + n), q, G());
}
