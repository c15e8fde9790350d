#include <thrust/device_ptr.h>
#include <thrust/transform_reduce.h>
#include <thrust/execution_policy.h>
struct Sq { __device__ double operator()(float x) const { return (double)x * x; } };
double f(float *x, int n)
{
    auto p = thrust::device_pointer_cast(x);
    return thrust::transform_reduce(thrust::device, p, p + n, Sq(), 0.0, thrust::plus<double>());
}
