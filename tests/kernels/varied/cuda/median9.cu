// The median of nine neighbours, clamped at the border, by exchanges.
#define ORDER(a, b) { float t = fminf(v[a], v[b]); v[b] = fmaxf(v[a], v[b]); v[a] = t; }
extern "C" __global__ void median9(const float *x, float *y, int width, int height) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y, n = 0;
    if (i >= width) return;
    float v[9];
    for (int b = -1; b <= 1; b++)
        for (int a = -1; a <= 1; a++) v[n++] = x[min(max(j + b, 0), height - 1) * width + min(max(i + a, 0), width - 1)];
    ORDER(1, 2) ORDER(4, 5) ORDER(7, 8) ORDER(0, 1) ORDER(3, 4) ORDER(6, 7) ORDER(1, 2) ORDER(4, 5) ORDER(7, 8) ORDER(0, 3)
    ORDER(5, 8) ORDER(4, 7) ORDER(3, 6) ORDER(1, 4) ORDER(2, 5) ORDER(4, 7) ORDER(4, 2) ORDER(6, 4) ORDER(4, 2)
    y[j * width + i] = v[4];
}
