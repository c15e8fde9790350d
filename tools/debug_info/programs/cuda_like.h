#define DEV __attribute__((device))
#define GLOBAL __attribute__((global))
#define SHARED __attribute__((shared))
#define CONST __attribute__((constant))
DEV inline int tid() { return __nvvm_read_ptx_sreg_tid_x(); }
DEV inline int bid() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEV inline int dim() { return __nvvm_read_ptx_sreg_ntid_x(); }
DEV inline void sync() { __syncthreads(); }
