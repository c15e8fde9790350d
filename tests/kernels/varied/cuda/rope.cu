// Turns pairs of the elements of heads by angles that grow with the place.
extern "C" __global__ void rope(float2 *x, const float *rate, int heads, int pairs) {
    int place = blockIdx.x, head = blockIdx.y, k = threadIdx.x;
    float s, c;
    sincosf(place * rate[k], &s, &c);
    float2 *p = x + (place * heads + head) * pairs + k;
    float2 v = *p;
    *p = make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
}
