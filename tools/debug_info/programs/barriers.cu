#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/atomic>
#include <cooperative_groups.h>
__global__ void k_pipeline(const float4 *in, float4 *out, int n)
{
    __shared__ float4 buffer[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cooperative_groups::this_thread_block();
    auto p = cuda::make_pipeline(block, &state);
    for (int i = 0, f = 0; i < n; i++) {
        for (; f < n && f < i + 2; f++) {
            p.producer_acquire();
            cuda::memcpy_async(block, buffer[f % 2], in + f * 64, cuda::aligned_size_t<16>(sizeof(float4) * 64), p);
            p.producer_commit();
        }
        p.consumer_wait();
        float4 v = buffer[i % 2][threadIdx.x];
        out[i * 64 + threadIdx.x] = make_float4(v.y, v.x, v.w * 2, v.z);
        p.consumer_release();
    }
}
__global__ void k_atomic(int *p, unsigned long long *q)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> a(*p);
    a.fetch_add(1, cuda::memory_order_acq_rel);
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_block> b(*q);
    unsigned long long old = b.load(cuda::memory_order_relaxed);
    while (!b.compare_exchange_weak(old, old * 3 + 1, cuda::memory_order_release)) ;
    a.store(int(old), cuda::memory_order_release);
}
