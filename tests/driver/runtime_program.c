// A host program as nvcc writes it, by hand and without NVIDIA's headers: registers PTX, launches it through the runtime library.
#include <stdint.h>
#include <stdio.h>

typedef struct {
    unsigned x, y, z;
} dim3;
typedef struct {
    dim3 grid, block;
    size_t shared;
    void *stream, *attributes;
    unsigned count;
} Config;

void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, void *);
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);
void __cudaRegisterManagedVar(void **, void **, char *, const char *, int, size_t, int, int);
char __cudaInitModule(void **);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, void *);
int __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, void *);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
int cudaLaunchKernelExC(const Config *, const void *, void **);
int cudaMalloc(void **, size_t);
int cudaFree(void *);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaMemcpyAsync(void *, const void *, size_t, int, void *);
int cudaMemcpyToSymbol(const void *, const void *, size_t, size_t, int);
int cudaMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, int);
int cudaMemset(void *, int, size_t);
int cudaStreamCreate(void **);
int cudaStreamSynchronize(void *);
int cudaStreamBeginCapture(void *, int);
int cudaStreamEndCapture(void *, void **);
int cudaGraphGetNodes(void *, void **, size_t *);
int cudaGraphInstantiate(void **, void *, unsigned long long);
int cudaGraphLaunch(void *, void *);
int cudaEventCreate(void **);
int cudaEventRecord(void *, void *);
int cudaEventSynchronize(void *);
int cudaEventElapsedTime(float *, void *, void *);
int cudaFuncGetAttributes(void *, const void *);
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *, const void *, int, size_t);
int cudaGetDeviceCount(int *);
int cudaGetLastError(void);
int cudaPeekAtLastError(void);
const char *cudaGetErrorName(int);
int cudaDeviceSynchronize(void);

static char text[1 << 16];
static struct {
    int magic, version;
    const void *data;
    void *more;
} wrapper = {0x466243b1, 1, text, 0};
static char scale, factor;  // Their addresses stand for the kernel and the variable.
static int *shown;

#define DO(x)                                                                                                          \
    do {                                                                                                               \
        int code = x;                                                                                                  \
        if (code) {                                                                                                    \
            printf("%s: %d %s\n", #x, code, cudaGetErrorName(code));                                                   \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)
#define EXPECT(x)                                                                                                      \
    do {                                                                                                               \
        if (!(x)) {                                                                                                    \
            printf("wrong: %s\n", #x);                                                                                 \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

int main(int argc, char **argv) {
    FILE *f = fopen(argv[argc - 1], "rb");
    EXPECT(f && fread(text, 1, sizeof text - 1, f) > 0);
    void **binary = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(binary, &scale, "scale", "scale", -1, 0, 0, 0, 0, 0);
    __cudaRegisterVar(binary, &factor, "factor", "factor", 0, 4, 1, 0);
    __cudaRegisterManagedVar(binary, (void **)&shown, "shown", "shown", 0, 4, 0, 1);
    EXPECT(__cudaInitModule(binary) && shown && *shown == 0);
    int devices, value = 3, h[64];
    DO(cudaGetDeviceCount(&devices));
    EXPECT(devices == 1);
    DO(cudaMemcpyToSymbol(&factor, &value, 4, 0, 1));
    void *p, *stream, *e0, *e1;
    DO(cudaMalloc(&p, sizeof h));
    DO(cudaMemcpy((char *)p + 4096, p, 0, 3));  // Nothing is copied, beyond the end.
    DO(cudaStreamCreate(&stream));
    DO(cudaEventCreate(&e0));
    DO(cudaEventCreate(&e1));
    // kernel<<<2, 32, 0, stream>>>
    dim3 two = {2, 1, 1}, block = {32, 1, 1}, g, b;
    size_t shared;
    void *s, *args[] = {&p};
    EXPECT(__cudaPushCallConfiguration(two, block, 0, stream) == 0);
    DO(__cudaPopCallConfiguration(&g, &b, &shared, &s));
    EXPECT(g.x == 2 && b.x == 32 && b.z == 1 && s == stream);
    DO(cudaEventRecord(e0, s));
    DO(cudaLaunchKernel(&scale, g, b, args, shared, s));
    DO(cudaEventRecord(e1, s));
    DO(cudaEventSynchronize(e1));
    float ms;
    DO(cudaEventElapsedTime(&ms, e0, e1));
    EXPECT(ms > 0);
    DO(cudaMemcpy(h, p, sizeof h, 2));
    for (int i = 0; i < 64; i++)
        EXPECT(h[i] == 3 * i);
    EXPECT(*shown == 7);
    // The same with a structure, then rows.
    DO(cudaMemset(p, 0, sizeof h));
    Config config = {two, block, 0, stream, 0, 0};
    DO(cudaLaunchKernelExC(&config, &scale, args));
    int rows[8] = {0};
    DO(cudaMemcpy2D(rows, 8, p, 64, 8, 4, 2));
    EXPECT(rows[0] == 0 && rows[1] == 3 && rows[2] == 48 && rows[7] == 147);
    // Captured work is done when the graph is launched.
    void *graph, *executable;
    size_t nodes = 0;
    DO(cudaMemset(p, 0, sizeof h));
    DO(cudaStreamBeginCapture(stream, 0));
    DO(cudaLaunchKernel(&scale, two, block, args, 0, stream));
    DO(cudaMemcpyAsync(h, p, sizeof h, 2, stream));
    EXPECT(cudaStreamSynchronize(stream) == 900);
    EXPECT(cudaStreamEndCapture(stream, &graph) == 901);
    EXPECT(cudaGetLastError() == 901 && cudaGetLastError() == 0);
    h[1] = 0;
    DO(cudaStreamBeginCapture(stream, 0));
    DO(cudaLaunchKernel(&scale, two, block, args, 0, stream));
    DO(cudaMemcpyAsync(h, p, sizeof h, 2, stream));
    DO(cudaStreamEndCapture(stream, &graph));
    DO(cudaGraphGetNodes(graph, 0, &nodes));
    DO(cudaGraphInstantiate(&executable, graph, 0));
    EXPECT(nodes == 2 && h[1] == 0);
    for (int i = 0; i < 2; i++) {
        h[1] = 0;
        DO(cudaGraphLaunch(executable, stream));
        DO(cudaStreamSynchronize(stream));
        EXPECT(h[1] == 3 && h[63] == 189);
    }
    // Attributes and errors.
    size_t attributes[20];
    int blocks;
    DO(cudaFuncGetAttributes(attributes, &scale));
    EXPECT((int)attributes[3] == 1024);
    DO(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &scale, 256, 0));
    EXPECT(blocks == 8);
    dim3 wide = {2048, 1, 1};
    EXPECT(cudaLaunchKernel(&scale, two, wide, args, 0, 0) == 9);
    EXPECT(cudaPeekAtLastError() == 9 && cudaGetLastError() == 9 && cudaGetLastError() == 0);
    EXPECT(cudaLaunchKernel(&factor, two, block, args, 0, 0) == 98);
    EXPECT(cudaMemcpy(h, p, sizeof h, 77) == 21 && cudaGetLastError() == 21);
    DO(cudaFree(0));
    DO(cudaFree(p));
    DO(cudaLaunchKernel(&scale, two, block, args, 0, 0));
    EXPECT(cudaPeekAtLastError() == 0 && cudaGetLastError() == 0);  // On a device the kernel still runs.
    EXPECT(cudaDeviceSynchronize() == 700 && cudaGetLastError() == 700 && cudaGetLastError() == 700);
    printf("right\n");
    return 0;
}
