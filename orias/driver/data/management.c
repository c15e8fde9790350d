// The management library (NVML): each exported function hands its arguments to the driver library of the same folder.
// The stubs (one for each line of management_functions.txt) follow this file; orias/driver/library.py writes them.
#include <stdint.h>

enum { NOT_SUPPORTED = 3 };

int orias_call(int index, const int64_t *values);

#define EXPORT __attribute__((visibility("default")))
