#!/usr/bin/env bash
# Rebuilds tests/kernels/ptx (nvcc, one file a kernel) and tests/kernels/cases (host-compiled reference results).
set -euo pipefail
cd "$(dirname "$0")"
mkdir -p ptx cases
for f in cuda/*.cu; do
    n=$(basename "$f" .cu)
    arch=compute_75
    case $n in asynccopy) arch=compute_80 ;; esac
    nvcc -ptx -arch=$arch "$f" -o "ptx/$n.ptx"
    g++ -x c++ -O1 -ffp-contract=off -frounding-math -std=c++17 -Icuda "$f" -o "/tmp/orias_case_$n"
    "/tmp/orias_case_$n" > "cases/$n.json"
    rm "/tmp/orias_case_$n"
done
