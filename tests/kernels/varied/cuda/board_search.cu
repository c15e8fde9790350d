// Ends of games on a board of 3 by 3 from the position of each thread: wins of both sides and draws, depth first with a stack of moves.
__device__ bool won(unsigned m) {
    const unsigned lines[8] = {0007, 0070, 0700, 0111, 0222, 0444, 0421, 0124};
    bool w = false;
#pragma unroll
    for (int k = 0; k < 8; k++) w |= (m & lines[k]) == lines[k];
    return w;
}
extern "C" __global__ void board_search(const unsigned short *first, const unsigned short *second, int *results, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned side[2] = {first[i], second[i]}, left[10];
    int depth = 0, turn = __popc(side[0]) > __popc(side[1]), wins[3] = {0, 0, 0};
    left[0] = 0777 & ~(side[0] | side[1]);
    unsigned char moves[10];
    while (depth >= 0) {
        if (left[depth]) {
            int m = __ffs(left[depth]) - 1;
            left[depth] &= left[depth] - 1;
            side[turn] |= 1u << m;
            unsigned free = 0777 & ~(side[0] | side[1]);
            if (won(side[turn])) {
                wins[turn]++;
                side[turn] ^= 1u << m;
            } else if (!free) {
                wins[2]++;
                side[turn] ^= 1u << m;
            } else {
                moves[depth] = m;
                left[++depth] = free;
                turn ^= 1;
            }
        } else if (--depth >= 0) {
            turn ^= 1;
            side[turn] ^= 1u << moves[depth];
        }
    }
    for (int k = 0; k < 3; k++) results[3 * i + k] = wins[k];
}
