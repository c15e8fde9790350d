#ifdef __CUDACC__
#include <cstdlib>
struct Node { int v; Node *next; };
extern "C" __global__ void heap(int *out) {
    int t = threadIdx.x;
    Node *head = nullptr;
    for (int i = 0; i <= t % 5; i++) { Node *n = (Node *)malloc(sizeof(Node)); n->v = t * 10 + i; n->next = head; head = n; }
    int s = 0;
    while (head) { s = s * 3 + head->v; Node *n = head->next; free(head); head = n; }
    out[t] = s;
}
#else
#include "case.h"
int main() {
    std::vector<int32_t> w(32);
    for (int t = 0; t < 32; t++) { int s = 0; for (int i = t % 5; i >= 0; i--) s = s * 3 + t * 10 + i; w[t] = s; }
    Case c("heap", 1, 32); c.output(w); c.done();
}
#endif
