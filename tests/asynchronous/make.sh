#!/usr/bin/env bash
# Rebuilds tests/asynchronous/ptx with nvcc and its headers.
set -euo pipefail
cd "$(dirname "$0")"
for f in cuda/*.cu; do
    n=$(basename "$f" .cu)
    for arch in 80 90; do
        case $n-$arch in cluster-80 | tma-80) continue ;; esac
        nvcc -ptx -std=c++17 -arch=compute_$arch "$f" -o "ptx/$n.$arch.ptx"
    done
done
