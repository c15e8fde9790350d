#ifdef __CUDACC__
__device__ int lock = 0;
extern "C" __global__ void spinlock(int *sum, int *order) {
    bool done = false;
    while (!done) {
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence();
            int k = *(volatile int *)sum;
            *(volatile int *)sum = k + (int)threadIdx.x + 1;
            order[threadIdx.x] = 1;
            __threadfence();
            atomicExch(&lock, 0);
            done = true;
        }
    }
}
#else
#include "case.h"
int main() {
    Case c("spinlock", 2, 32); c.output(std::vector<int32_t>{2 * 32 * 33 / 2}); c.output(std::vector<int32_t>(32, 1)); c.done();
}
#endif
