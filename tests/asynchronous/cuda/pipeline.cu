// Two stages of cuda::pipeline: tiles come by cuda::memcpy_async while the one before is worked on.
#include <cooperative_groups.h>
#include <cuda/pipeline>

namespace cg = cooperative_groups;

extern "C" __global__ void __launch_bounds__(128) pipeline(const int4 *in, int4 *out, int tiles) {
    constexpr int stages = 2;
    __shared__ alignas(16) int4 buffer[stages][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    auto group = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(group, &state);
    for (int fetch = 0, t = 0; t < tiles; ++t) {
        for (; fetch < tiles && fetch < t + stages; ++fetch) {
            pipe.producer_acquire();
            cuda::memcpy_async(group, buffer[fetch % stages], in + fetch * 128, cuda::aligned_size_t<16>(sizeof(int4) * 128), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        int4 v = buffer[t % stages][127 - threadIdx.x];
        v.x += t; v.y *= 3; v.z ^= v.w;
        out[t * 128 + threadIdx.x] = v;
        pipe.consumer_release();
    }
}
