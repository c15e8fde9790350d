#!/usr/bin/env bash
# Rebuilds tests/wgmma/ptx from tests/wgmma/cuda with nvcc.
set -euo pipefail
cd "$(dirname "$0")"
for f in cuda/*.cu; do
    nvcc -ptx -arch=compute_90a "$f" -o "ptx/$(basename "$f" .cu).ptx"
done
