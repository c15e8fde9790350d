// A host program without Python and without NVIDIA's header: runs saxpy from a PTX file through the driver library.
#include <stdint.h>
#include <stdio.h>

int cuInit(unsigned);
int cuCtxCreate_v2(void **, unsigned, int);
int cuModuleLoad(void **, const char *);
int cuModuleGetFunction(void **, void *, const char *);
int cuMemAllocManaged(uint64_t *, size_t, unsigned);
int cuCtxSynchronize(void);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);

#define DO(x)                                                                                                          \
    do {                                                                                                               \
        int code = x;                                                                                                  \
        if (code) {                                                                                                    \
            printf("%s: %d\n", #x, code);                                                                              \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

int main(int argc, char **argv) {
    void *context, *module, *kernel;
    uint64_t x, y;
    unsigned n = 100;
    float a = 2;
    DO(cuInit(0));
    DO(cuCtxCreate_v2(&context, 0, 0));
    DO(cuModuleLoad(&module, argv[argc - 1]));
    DO(cuModuleGetFunction(&kernel, module, "saxpy"));
    DO(cuMemAllocManaged(&x, 4 * n, 1));
    DO(cuMemAllocManaged(&y, 4 * n, 1));
    for (unsigned i = 0; i < n; i++)
        ((float *)x)[i] = i, ((float *)y)[i] = 1;
    void *params[] = {&x, &y, &a, &n};
    DO(cuLaunchKernel(kernel, 1, 1, 1, 128, 1, 1, 0, 0, params, 0));
    DO(cuCtxSynchronize());
    for (unsigned i = 0; i < n; i++)
        if (((float *)y)[i] != 2 * i + 1)
            return printf("wrong at %u\n", i);
    printf("right\n");
    return 0;
}
