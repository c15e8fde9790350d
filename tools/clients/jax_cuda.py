"""Runs a program for JAX on CUDA without cuDNN, whose own CUDA runtime does not start under ``orias exec``.

``orias exec -- PYTHON tools/clients/jax_cuda.py PROGRAM [ARGUMENT]...`` in a Python with jax, jaxlib, jax-cuda13-plugin,
jax-cuda13-pjrt and nvidia-cuda-nvcc (its ptxas stays unused), but without cuDNN.  XLA compiles nothing before it has a handle of
cuDNN: a library of the functions that make one, built here, has it.  What XLA gives to cuDNN, cuBLAS and other libraries
(convolutions, products of matrices, factorisations) does not run.  JAX takes a file in /dev for the sign of a GPU, and is told
that there is one; ``ptxas`` is a link to Orias (``orias toolkit``), and nothing is tuned by time.
"""

import ctypes
import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

CUDNN = """
#include <stdlib.h>
int cudnnCreate(void **h) { *h = malloc(16); return *h ? 0 : 2; }
int cudnnDestroy(void *h) { free(h); return 0; }
int cudnnSetStream(void *h, void *s) { return 0; }
size_t cudnnGetVersion(void) { return 91400; }
size_t cudnnGetCudartVersion(void) { return 13000; }
int cudnnGetProperty(int what, int *value) { *value = what == 0 ? 9 : what == 1 ? 14 : 0; return 0; }
const char *cudnnGetErrorString(int e) { return "a handle of cuDNN without functions"; }
void cudnnGetLastErrorString(char *to, size_t size) { if (size) *to = 0; }
"""
"""What XLA calls before it compiles."""
FLAGS = "--xla_gpu_enable_libnvptxcompiler=false --xla_gpu_autotune_level=0"


def main() -> None:
    """Runs the program of the command line."""
    folder = Path(tempfile.mkdtemp(prefix="orias-jax-"))
    try:
        (folder / "cudnn.c").write_text(CUDNN)
        library = folder / "libcudnn.so.9"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-w", "-Wl,-soname,libcudnn.so.9", "-o", library, folder / "cudnn.c"], check=True
        )
        cuda = next(Path(sysconfig.get_path("purelib")).glob("nvidia/cu[0-9]*"))
        command = [sys.executable, "-m", "orias", "toolkit", str(folder / "toolkit"), "--cuda", str(cuda)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        os.environ["CUDA_ROOT"] = os.environ["MOSAIC_GPU_CUDA_ROOT"] = str(folder / "toolkit")
        os.environ["JAX_PLATFORMS"] = "cuda"
        os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"
        os.environ["XLA_FLAGS"] = f"{FLAGS} {os.environ.get('XLA_FLAGS', '')}"
        # The plugin opens it by its name, and finds the one that is open.
        ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
        from jax._src import hardware_utils

        hardware_utils.has_visible_nvidia_gpu = lambda: True
        sys.argv = sys.argv[1:]
        runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
