#include <thrust/sort.h>
#include <thrust/binary_search.h>
#include <thrust/unique.h>
#include <thrust/scan.h>
#include <thrust/execution_policy.h>
__global__ void k_seq(int *a, int *b, int n)
{
    int *mine = a + threadIdx.x * n;
    thrust::sort(thrust::seq, mine, mine + n);
    int *end = thrust::unique(thrust::seq, mine, mine + n);
    b[threadIdx.x] = thrust::lower_bound(thrust::seq, mine, end, 17) - mine;
    thrust::inclusive_scan(thrust::seq, mine, end, mine);
}
