// What the sources here take from CUDA: clang 19 compiles them without CUDA's headers.
#define GLOBAL extern "C" __attribute__((global))
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))
#define THREAD __nvvm_read_ptx_sreg_tid_x()
#define BLOCK_X __nvvm_read_ptx_sreg_ctaid_x()
#define BLOCK_Y __nvvm_read_ptx_sreg_ctaid_y()
#define INDEX (BLOCK_X * __nvvm_read_ptx_sreg_ntid_x() + THREAD)
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
