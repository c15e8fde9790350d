#ifdef __CUDACC__
#include <cstdio>
extern "C" __global__ void print(int n, float x) {
    if (threadIdx.x == 0) {
        for (int i = 0; i < n; i++) printf("line %d of %s: %.3f %5u|%-4d|%x %c %lld\n", i, "kernel", x * i, i * 100u, -i, 255 + i, 'a' + i, (long long)i << 33);
    }
}
#else
#include "case.h"
int main() {
    std::string s; char b[256];
    for (int i = 0; i < 4; i++) { snprintf(b, sizeof b, "line %d of %s: %.3f %5u|%-4d|%x %c %lld\n", i, "kernel", 1.25f * i, i * 100u, -i, 255 + i, 'a' + i, (long long)i << 33); s += b; }
    Case c("print", 1, 32); c.scalar(4); c.scalar(1.25f); c.printed(s); c.done();
}
#endif
