#ifdef __CUDACC__
__constant__ char pattern[8] = "abab";
extern "C" __global__ void strsearch(const char *text, int n, int *hits, int *count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 4 > n) return;
    int k = 0;
    while (pattern[k] && text[i + k] == pattern[k]) k++;
    if (!pattern[k]) { hits[i] = 1; atomicAdd(count, 1); }
}
#else
#include "case.h"
int main() {
    Lcg g(13); int n = 300;
    std::vector<uint8_t> t(n); std::vector<int32_t> h(n), cnt(1);
    for (auto &v : t) v = 'a' + (g.next() >> 8) % 2;
    for (int i = 0; i + 4 <= n; i++) if (!memcmp(&t[i], "abab", 4)) { h[i] = 1; cnt[0]++; }
    Case c("strsearch", 3, 128); c.input(t); c.scalar(n); c.output(h); c.output(cnt); c.done();
}
#endif
