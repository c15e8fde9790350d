#ifdef __CUDACC__
#define HD __device__
#else
#define HD
#include "case.h"
#endif
// A little stack machine: a big switch, a local array, divergent control flow.
HD inline int interp(const unsigned char *code, int x) {
    int st[16], sp = 0, pc = 0, fuel = 200;
    for (int i = 0; i < 16; i++) st[i] = 0;
    while (fuel-- > 0) {
        switch (code[pc++]) {
        case 0: return st[(sp - 1) & 15];
        case 1: st[sp++ & 15] = x; break;
        case 2: st[sp++ & 15] = code[pc++]; break;
        case 3: sp--; st[(sp - 1) & 15] += st[sp & 15]; break;
        case 4: sp--; st[(sp - 1) & 15] *= st[sp & 15]; break;
        case 5: sp--; st[(sp - 1) & 15] -= st[sp & 15]; break;
        case 6: st[sp & 15] = st[(sp - 1) & 15]; sp++; break;
        case 7: if (st[(sp - 1) & 15] > 0) pc = code[pc]; else pc++; break;
        case 8: { int t = st[(sp - 1) & 15]; st[(sp - 1) & 15] = st[(sp - 2) & 15]; st[(sp - 2) & 15] = t; break; }
        case 9: x = st[--sp & 15]; break;
        case 10: st[(sp - 1) & 15] ^= 0x55; break;
        default: return -code[pc - 1];
        }
    }
    return st[0];
}
#ifdef __CUDACC__
extern "C" __global__ void interp_kernel(const unsigned char *code, int *out) { out[threadIdx.x] = interp(code + (threadIdx.x & 1) * 32, threadIdx.x); }
#else
int main() {
    std::vector<uint8_t> code(64);
    uint8_t a[] = {1, 2, 3, 4, 2, 7, 3, 10, 6, 4, 0}, b[] = {2, 1, 1, 4, 1, 2, 1, 5, 6, 9, 7, 1, 0, 77};
    memcpy(&code[0], a, sizeof a); memcpy(&code[32], b, sizeof b);
    std::vector<int32_t> w(32);
    for (int t = 0; t < 32; t++) w[t] = interp(&code[(t & 1) * 32], t);
    Case c("interp_kernel", 1, 32); c.input(code); c.output(w); c.done();
}
#endif
