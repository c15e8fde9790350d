// Rabin and Karp: how often a pattern occurs, each thread with its stretch of the text and a rolling hash.
extern "C" __global__ void rolling_match(const unsigned char *text, int length, const unsigned char *pattern, int size, unsigned int wanted, unsigned int power, int stretch, int *counts, int *first) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int at = t * stretch, end = min(at + stretch, length - size + 1);
    int count = 0, place = -1;
    if (at < end) {
        unsigned int h = 0;
        for (int k = 0; k < size; k++) h = h * 257u + text[at + k];
        while (true) {
            if (h == wanted) {
                int k = 0;
                while (k < size && text[at + k] == pattern[k]) k++;
                if (k == size) {
                    if (place < 0) place = at;
                    count++;
                }
            }
            if (++at >= end) break;
            h = (h - text[at - 1] * power) * 257u + text[at - 1 + size];
        }
    }
    counts[t] = count;
    first[t] = place;
}
