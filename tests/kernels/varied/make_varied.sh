#!/usr/bin/env bash
# Rebuilds the PTX of the varied kernels: CUDA C++ by nvcc, Triton kernels by triton 3.6 and 3.9, tinygrad kernels by tinygrad 0.14,
# C by clang 19, Numba kernels by numba-cuda 0.30 (no GPU needed; PYTHON has the packages installed).
set -euo pipefail
cd "$(dirname "$0")"
for f in cuda/*.cu; do
    out="ptx/$(basename "$f" .cu).ptx"
    nvcc -ptx -arch=compute_75 "$f" -o "$out"
    # ptxas 13.0 reads PTX up to 9.0, which has all that is in these files.
    sed -i "s/^\.version .*/.version 9.0/" "$out"
done
for f in clang/*.cu; do
    clang-19 -x cuda --cuda-device-only --cuda-gpu-arch=sm_75 --cuda-path="${CUDA:-/usr/local/cuda}" -nocudainc -nocudalib \
        -Wno-unknown-cuda-version -O3 -S "$f" -o "ptx/$(basename "$f" .cu).ptx"
done
"${PYTHON:-python}" varied_triton.py ptx
"${PYTHON:-python}" further_triton.py ptx
"${PYTHON:-python}" varied_tinygrad.py ptx
"${PYTHON:-python}" varied_numba.py ptx
