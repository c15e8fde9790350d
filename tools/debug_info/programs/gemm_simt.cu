#include <cutlass/gemm/device/gemm.h>
using Gemm = cutlass::gemm::device::Gemm<float, cutlass::layout::ColumnMajor, float, cutlass::layout::RowMajor, float, cutlass::layout::RowMajor, float,
    cutlass::arch::OpClassSimt, cutlass::arch::Sm75, cutlass::gemm::GemmShape<32, 32, 8>, cutlass::gemm::GemmShape<32, 32, 8>>;
template __global__ void cutlass::Kernel<Gemm::GemmKernel>(typename Gemm::GemmKernel::Params);
