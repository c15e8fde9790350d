#ifdef __CUDACC__
#define HD __device__
#else
#define HD
#include "case.h"
#endif
template <class I, class U> HD inline void ops(const I *a, const I *b, I *o, int i, int n) {
    I x = a[i], y = b[i];
    o[i] = y ? (I)(x / y) : 0; o[i + n] = y ? (I)(x % y) : 0;
    o[i + 2 * n] = y ? (I)((U)x / (U)y) : 0; o[i + 3 * n] = y ? (I)((U)x % (U)y) : 0;
}
#ifdef __CUDACC__
extern "C" __global__ void divide(const int *a, const int *b, int *o, const long long *la, const long long *lb, long long *lo, int n) {
    int i = threadIdx.x;
    ops<int, unsigned>(a, b, o, i, n);
    ops<long long, unsigned long long>(la, lb, lo, i, n);
}
#else
int main() {
    Lcg g(15); int n = 64;
    std::vector<int32_t> a(n), b(n), o(4 * n); std::vector<int64_t> la(n), lb(n), lo(4 * n);
    int64_t special[] = {0, 1, -1, 2, 7, 0x7fffffff, -0x7fffffffll, 1ll << 32, -(1ll << 40) + 3, 0x7fffffffffffffffll};
    for (int i = 0; i < n; i++) {
        a[i] = g.next() * 2 - (1 << 30); b[i] = i < 10 ? (int32_t)special[i] : (int32_t)(g.next() >> (g.next() % 31)) - 8;
        la[i] = ((int64_t)g.next() << 33) ^ ((int64_t)g.next() << 10) ^ g.next(); lb[i] = i < 10 ? special[i] : (int64_t)(((uint64_t)g.next() << 32 | g.next()) >> (g.next() % 62)) - 5;
        if (i & 1) la[i] = -la[i];
    }
    for (int i = 0; i < n; i++) { ops<int32_t, uint32_t>(a.data(), b.data(), o.data(), i, n); ops<int64_t, uint64_t>(la.data(), lb.data(), lo.data(), i, n); }
    Case c("divide", 1, 64); c.input(a); c.input(b); c.output(o); c.input(la); c.input(lb); c.output(lo); c.scalar(n); c.done();
}
#endif
