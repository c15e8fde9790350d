// cuda::barrier between producing and consuming warps, with a ring of two buffers.
#include <cuda/barrier>

using barrier = cuda::barrier<cuda::thread_scope_block>;

extern "C" __global__ void __launch_bounds__(64) ring(const int *in, int *out, int rounds) {
    __shared__ int buffer[2][32];
    __shared__ barrier full[2], empty[2];
    if (threadIdx.x == 0) {
        for (int k = 0; k < 2; ++k) {
            init(&full[k], 64);
            init(&empty[k], 64);
        }
    }
    __syncthreads();
    int lane = threadIdx.x & 31;
    if (threadIdx.x < 32) {
        for (int r = 0; r < rounds; ++r) {
            empty[r & 1].arrive_and_wait();
            buffer[r & 1][lane] = in[r * 32 + lane] * 2 + r;
            (void)full[r & 1].arrive();
        }
    } else {
        (void)empty[0].arrive();
        (void)empty[1].arrive();
        int sum = 0;
        for (int r = 0; r < rounds; ++r) {
            full[r & 1].arrive_and_wait();
            sum += buffer[r & 1][31 - lane];
            out[r * 32 + lane] = sum;
            if (r + 2 < rounds)
                (void)empty[r & 1].arrive();
        }
    }
}

// Bulk asynchronous copies (sm_90) or cp.async (sm_80) through cuda::memcpy_async on a barrier.
extern "C" __global__ void __launch_bounds__(96) staged(const float4 *in, float *out, int n) {
    __shared__ alignas(16) float4 buffer[96];
    __shared__ barrier ready;
    if (threadIdx.x == 0)
        init(&ready, blockDim.x);
    __syncthreads();
    float sum = 0;
    for (int base = 0; base < n; base += 96) {
        cuda::memcpy_async(&buffer[threadIdx.x], in + base + threadIdx.x, cuda::aligned_size_t<16>(16), ready);
        ready.arrive_and_wait();
        float4 v = buffer[(threadIdx.x * 5 + 1) % 96];
        sum += v.x + 2 * v.y - v.z + 0.5f * v.w;
        __syncthreads();
    }
    out[blockIdx.x * 96 + threadIdx.x] = sum;
}
