// The runtime library (libcudart): each exported function hands its arguments to the driver library of the same folder.
// The stubs (one for each line of runtime_functions.txt) follow this file; orias/driver/library.py writes them.
#include <stddef.h>
#include <stdint.h>

enum { NOT_SUPPORTED = 801 };

typedef struct {
    unsigned x, y, z;
} Dim3;
typedef struct {
    size_t width, height, depth;
} Extent;
typedef struct {
    void *pointer;
    size_t pitch, width, height;
} Pitched;
typedef struct {
    char bytes[64];
} Handle;
typedef struct {
    int x, y, z, w, kind;
} Channel;

int orias_call(int index, const int64_t *values);

#define EXPORT __attribute__((visibility("default")))

EXPORT Channel cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
    Channel c = {x, y, z, w, kind};
    return c;
}
