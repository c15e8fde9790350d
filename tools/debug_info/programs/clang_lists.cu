#include "cuda_like.h"
template <class T> struct Node { T value; Node *next; };
template <class T, class F> DEV T fold(const Node<T> *n, T first, F f) { for (; n; n = n->next) first = f(first, n->value); return first; }
template <class T> DEV inline T larger(T a, T b) { return a < b ? b : a; }
GLOBAL void k_lists(Node<int> **a, int *out, int n)
{
    int i = bid() * dim() + tid();
    if (i >= n) return;
    int sum = fold(a[i], 0, [](int x, int y) { return x + y; });
    int most = fold(a[i], -1, [](int x, int y) { return larger(x, y); });
    out[i] = sum % 13 == 0 ? most : sum * most;
}
GLOBAL void k_floats(Node<float> **a, float *out, int n)
{
    SHARED float buffer[128];
    float v = fold(a[tid()], 0.f, [n](float x, float y) { return x * n - y; });
    buffer[tid()] = v;
    sync();
    for (int s = 64; s; s >>= 1) { if (tid() < s) buffer[tid()] = larger(buffer[tid()], buffer[tid() + s]); sync(); }
    if (!tid()) out[bid()] = buffer[0];
}
