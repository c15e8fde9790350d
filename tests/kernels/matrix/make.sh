#!/usr/bin/env bash
# Rebuilds the PTX of the matrix kernels: CUDA C++ by nvcc, Triton kernels by triton 3.6 (no GPU needed; PYTHON has it installed).
set -euo pipefail
cd "$(dirname "$0")"
build() { nvcc -ptx -arch="$1" -DKIND="$2" "cuda/$3.cu" -o "ptx/$4.ptx"; }
build compute_75 0 wmma wmma_f16
build compute_75 1 wmma wmma_s8
build compute_75 5 mma mma75_f16
build compute_80 0 mma mma_f16
build compute_80 1 mma mma_bf16
build compute_80 2 mma mma_tf32
build compute_80 3 mma mma_s8
build compute_89 4 mma mma_fp8
build compute_90a 0 conv conv_f16
"${PYTHON:-python}" triton_kernels.py ptx
"${PYTHON:-python}" triton_hopper.py ptx
