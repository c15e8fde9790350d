// A convolution of three by three over channels, with ReLU.
extern "C" __global__ void conv3x3(const float *__restrict__ x, const float *__restrict__ w, float *y, int channels, int height, int width) {
    int ox = blockIdx.x * blockDim.x + threadIdx.x, oy = blockIdx.y, oc = blockIdx.z;
    if (ox >= width - 2) return;
    float s = 0;
    for (int c = 0; c < channels; c++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) s += x[(c * height + oy + i) * width + ox + j] * w[((oc * channels + c) * 3 + i) * 3 + j];
    y[(oc * (height - 2) + oy) * (width - 2) + ox] = s > 0 ? s : 0.f;
}
