// The forward sums of a pair HMM, a warp a pair of read and haplotype, a lane a row of 32, cells passed down by shuffles.
extern "C" __global__ void pair_hmm(const unsigned char *reads, const unsigned char *quality, const unsigned char *haplotypes, const int *rows, const int *columns, int maxrows, int maxcolumns, float open, float extend, float *out, int pairs) {
    int pair = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (pair >= pairs) return;
    int m = rows[pair], n = columns[pair];
    unsigned char base = lane < m ? reads[pair * maxrows + lane] : 0;
    float error = exp2f(-0.33219281f * (lane < m ? quality[pair * maxrows + lane] : 0));
    const unsigned char *hap = haplotypes + pair * maxcolumns;
    float stay = 1 - 2 * open, back = 1 - extend;
    float start = 1.0f / n;
    float match = 0, insert = 0, remove = 0, upm = 0, upi = 0, upd = lane == 0 ? start : 0;
    float sum = 0;
    for (int step = 0; step < n + m - 1; step++) {
        int j = step - lane;
        float am = __shfl_up_sync(~0u, match, 1), ai = __shfl_up_sync(~0u, insert, 1), ad = __shfl_up_sync(~0u, remove, 1);
        if (lane == 0) am = 0, ai = 0, ad = start;
        if (j >= 0 && j < n) {
            unsigned char h = hap[j];
            float p = h == base || h == 'N' ? 1 - error : error * (1.0f / 3);
            float mm = p * (stay * upm + back * (upi + upd));
            float ii = open * am + extend * ai;
            float dd = open * match + extend * remove;
            match = mm;
            insert = ii;
            remove = dd;
            if (lane == m - 1) sum += mm + ii;
        }
        upm = am;
        upi = ai;
        upd = ad;
    }
    sum = __shfl_sync(~0u, sum, m - 1);
    if (lane == 0) out[pair] = log10f(sum);
}
