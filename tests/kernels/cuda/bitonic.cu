#ifdef __CUDACC__
extern "C" __global__ void bitonic(int *data) {
    __shared__ int s[128];
    unsigned t = threadIdx.x;
    s[t] = data[t];
    __syncthreads();
    for (unsigned k = 2; k <= 128; k <<= 1)
        for (unsigned j = k >> 1; j; j >>= 1) {
            unsigned p = t ^ j;
            if (p > t) {
                int a = s[t], b = s[p];
                bool up = (t & k) == 0;
                if ((a > b) == up) { s[t] = b; s[p] = a; }
            }
            __syncthreads();
        }
    data[t] = s[t];
}
#else
#include "case.h"
#include <algorithm>
int main() {
    Lcg g(4); std::vector<int32_t> x(128);
    for (auto &v : x) v = (int32_t)g.next() - 1000000000;
    auto w = x; std::sort(w.begin(), w.end());
    Case c("bitonic", 1, 128); c.output(x, w); c.done();
}
#endif
