// Occurrences of several words: each thread runs a table of states over its part of a text and some bytes more.
extern "C" __global__ void automaton(const unsigned char *text, const short *next, const unsigned char *accepts, int *count, int n, int part, int longest) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, begin = t * part, end = min(begin + part, n);
    if (begin >= n) return;
    int state = 0, found = 0;
    for (int i = max(begin - longest + 1, 0); i < end; i++) {
        state = next[state * 32 + (text[i] & 31)];
        if (i >= begin) found += accepts[state];
    }
    atomicAdd(count, found);
    count[1 + t] = found;
}
