// A stand-in for libcuda.so: every function has the prototype of the real cuda.h and hands its arguments to a callback as numbers.
#include <cuda.h>
#include <stdint.h>

typedef int (*Callback)(const char *name, int count, const int64_t *values);
static Callback callback;
void fake_set(Callback f) { callback = f; }

#define V(x) (int64_t)(intptr_t)(x)
#define CALL(name, ...) int64_t v[] = {__VA_ARGS__}; return (CUresult)callback(name, sizeof v / sizeof *v, v)

CUresult CUDAAPI cuInit(unsigned flags) { CALL("cuInit", flags); }
CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal) { CALL("cuDeviceGet", V(device), ordinal); }
CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice dev) { CALL("cuDeviceGetName", V(name), len, dev); }
CUresult CUDAAPI cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev) { CALL("cuDeviceGetAttribute", V(pi), attrib, dev); }
CUresult CUDAAPI cuDriverGetVersion(int *version) { CALL("cuDriverGetVersion", V(version)); }
CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice dev) { CALL("cuDevicePrimaryCtxRetain", V(context), dev); }
CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice dev) { CALL("cuDevicePrimaryCtxReset", dev); }
CUresult CUDAAPI cuCtxSetCurrent(CUcontext context) { CALL("cuCtxSetCurrent", V(context)); }
CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text) { CALL("cuGetErrorString", error, V(text)); }
CUresult CUDAAPI cuGetErrorName(CUresult error, const char **text) { CALL("cuGetErrorName", error, V(text)); }
CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image) { CALL("cuModuleLoadData", V(module), V(image)); }
CUresult CUDAAPI cuModuleUnload(CUmodule module) { CALL("cuModuleUnload", V(module)); }
CUresult CUDAAPI cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) { CALL("cuModuleGetFunction", V(function), V(module), V(name)); }
CUresult CUDAAPI cuFuncSetAttribute(CUfunction function, CUfunction_attribute attrib, int value) { CALL("cuFuncSetAttribute", V(function), attrib, value); }
CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *dptr, size_t size) { CALL("cuMemAlloc", V(dptr), size); }
CUresult CUDAAPI cuMemFree_v2(CUdeviceptr dptr) { CALL("cuMemFree", dptr); }
CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size) { CALL("cuMemcpyHtoD", to, V(from), size); }
CUresult CUDAAPI cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size) { CALL("cuMemcpyDtoH", V(to), from, size); }
CUresult CUDAAPI cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t size) { CALL("cuMemsetD8", to, value, size); }
CUresult CUDAAPI cuEventCreate(CUevent *event, unsigned flags) { CALL("cuEventCreate", V(event), flags); }
CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream) { CALL("cuEventRecord", V(event), V(stream)); }
CUresult CUDAAPI cuEventQuery(CUevent event) { CALL("cuEventQuery", V(event)); }
CUresult CUDAAPI cuEventDestroy_v2(CUevent event) { CALL("cuEventDestroy", V(event)); }
#if CUDA_VERSION >= 13000
#undef cuEventElapsedTime
#endif
CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent start, CUevent end) { CALL("cuEventElapsedTime", V(ms), V(start), V(end)); }

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra) {
    int64_t cluster[3] = {0, 0, 0};
    for (unsigned i = 0; i < c->numAttrs; i++)
        if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            cluster[0] = c->attrs[i].value.clusterDim.x;
            cluster[1] = c->attrs[i].value.clusterDim.y;
            cluster[2] = c->attrs[i].value.clusterDim.z;
        } else
            return CUDA_ERROR_INVALID_VALUE;
    CALL("cuLaunchKernelEx", V(f), c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ, c->sharedMemBytes,
         V(c->hStream), cluster[0], cluster[1], cluster[2], V(params), V(extra));
}

CUresult CUDAAPI cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address, const cuuint64_t *dims,
                               const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *steps, CUtensorMapInterleave interleave,
                               CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
    CALL("cuTensorMapEncodeTiled", V(map), type, rank, V(address), V(dims), V(strides), V(box), V(steps), interleave, swizzle, promotion, fill);
}

CUresult CUDAAPI cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address, const cuuint64_t *dims,
                                const cuuint64_t *strides, const int *lower, const int *upper, cuuint32_t channels, cuuint32_t pixels,
                                const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
    CALL("cuTensorMapEncodeIm2col", V(map), type, rank, V(address), V(dims), V(strides), V(lower), V(upper), channels, pixels, V(steps),
         interleave, swizzle, promotion, fill);
}
