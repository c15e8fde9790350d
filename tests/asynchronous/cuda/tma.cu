// Tensor copies: tiles come in through a pipeline of mbarriers, are transposed within their rows, and go out again; and an im2col gather
// that sums the window of a convolution.
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>

namespace ptx = cuda::ptx;
using barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cde = cuda::device::experimental;

extern "C" __global__ void __launch_bounds__(128) tiles(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to, int count) {
    __shared__ alignas(128) int buffer[2][8][16];
    __shared__ alignas(128) int result[8][16];
    __shared__ barrier ready[2];
    if (threadIdx.x == 0) {
        init(&ready[0], blockDim.x);
        init(&ready[1], blockDim.x);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    auto fetch = [&](int t) {
        if (threadIdx.x == 0) {
            cde::cp_async_bulk_tensor_2d_global_to_shared(&buffer[t & 1], &from, t * 16, blockIdx.x * 8, ready[t & 1]);
            return cuda::device::barrier_arrive_tx(ready[t & 1], 1, sizeof(buffer[0]));
        }
        return ready[t & 1].arrive();
    };
    barrier::arrival_token token = fetch(0);
    for (int t = 0; t < count; ++t) {
        barrier::arrival_token next;
        bool more = t + 1 < count;
        if (more)
            next = fetch(t + 1);
        ready[t & 1].wait(std::move(token));
        int row = threadIdx.x / 16, column = threadIdx.x % 16;
        result[row][15 - column] = buffer[t & 1][row][column] * 3 + t;
        cde::fence_proxy_async_shared_cta();
        __syncthreads();
        if (threadIdx.x == 0) {
            cde::cp_async_bulk_tensor_2d_shared_to_global(&to, t * 16, blockIdx.x * 8, &result);
            cde::cp_async_bulk_commit_group();
            cde::cp_async_bulk_wait_group_read<0>();
        }
        __syncthreads();
        if (more)
            token = std::move(next);
    }
}

// in: NHWC, 8 channels; one block a run of 16 pixels; 3x3 window, stride 1, padding 1.
extern "C" __global__ void __launch_bounds__(128) window(const __grid_constant__ CUtensorMap image, int *out, int width, int height) {
    __shared__ alignas(128) int pixels[9][16][8];
    __shared__ alignas(8) cuda::std::uint64_t object;
    int first = blockIdx.x * 16;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&object, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &object, sizeof(pixels));
        int n = first / (width * height), h = first / width % height - 1, w = first % width - 1;
        unsigned bar = (unsigned)__cvta_generic_to_shared(&object);
        for (int k = 0; k < 9; ++k) {
            unsigned goal = (unsigned)__cvta_generic_to_shared(&pixels[k]);
            asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};"
                         :: "r"(goal), "l"(&image), "r"(0), "r"(w), "r"(h), "r"(n), "r"(bar), "h"((short)(k % 3)), "h"((short)(k / 3)) : "memory");
        }
    }
    __syncthreads();
    while (!ptx::mbarrier_try_wait_parity(&object, 0))
        ;
    int pixel = threadIdx.x / 8, channel = threadIdx.x % 8, sum = 0;
    for (int k = 0; k < 9; ++k)
        sum += pixels[k][pixel][channel] * (k + 1);
    out[(first + pixel) * 8 + channel] = sum;
}
