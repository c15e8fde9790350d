"""Runs a program for PyTorch on CUDA with a PyTorch for CPUs: its "cuda" device is the CPU, its kernels are Triton's.

    orias exec -- PYTHON tools/clients/torch_cpu.py [--pytest] PROGRAM [ARGUMENT]...

Device pointers are host pointers under ``orias exec``, so Triton's kernels take tensors of the CPU.  Benchmarks
(``triton.testing.perf_report`` and ``do_bench``) are left out, and an autotuner takes its first configuration.  Products of
matrices of 16 bits and layer norms, which such programs compare with, are computed in f64 and rounded once.
"""

import runpy
import sys
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import torch
import triton
import triton.testing
from torch.overrides import TorchFunctionMode
from triton._C import libtriton
from triton.backends.nvidia.driver import CudaDriver
from triton.runtime.autotuner import Autotuner

CPU = torch.device("cpu")
_PRODUCTS = (torch.matmul, torch.mm, torch.bmm, torch.Tensor.matmul, torch.Tensor.__matmul__)
_HALVES = (torch.float16, torch.bfloat16)


def _moved(value: Any) -> Any:
    if isinstance(value, torch.device) and value.type == "cuda":
        return CPU
    return CPU if isinstance(value, str) and value.split(":")[0] == "cuda" else value


def _doubled(value: Any) -> Any:
    return value.double() if isinstance(value, torch.Tensor) else value


class CpuIsCuda(TorchFunctionMode):
    """Functions of torch with the CPU wherever their arguments name a CUDA device."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in _PRODUCTS and len(args) == 2 and not kwargs and args[0].dtype in _HALVES:
            # A CPU may round sums of parts to 16 bits; a GPU sums in f32.  Gradients are sums in f64, too.
            return func(args[0].double(), args[1].double()).to(args[0].dtype)
        if func is torch.nn.functional.layer_norm and args[0].dtype in _HALVES:
            # Its gradients, too, are then sums in f64.
            named = {k: _doubled(v) for k, v in (kwargs or {}).items()}
            return func(*(_doubled(a) for a in args), **named).to(args[0].dtype)
        # All memory of the host is the device's, pinned or not.
        named = {k: _moved(v) for k, v in (kwargs or {}).items() if k != "pin_memory"}
        return func(*(_moved(a) for a in args), **named)


class _Stream:
    cuda_stream = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> "_Stream":
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def wait_stream(self, _: Any) -> None:
        pass


def replace(sm: int) -> None:
    """Puts the CPU in the place of CUDA; `sm`: the device's compute capability (90)."""
    c: Any = torch.cuda
    capability = sm // 10, sm % 10
    c.is_available = lambda: True
    c.current_device = lambda: 0
    c.device_count = lambda: 1
    c.set_device = lambda *_: None
    c.get_device_capability = lambda *_: capability
    c.get_device_name = lambda *_: "Orias"
    c.get_device_properties = lambda *_: SimpleNamespace(
        multi_processor_count=132, name="Orias", major=sm // 10, minor=sm % 10
    )
    c.current_stream = c.default_stream = lambda *_: _Stream()
    c.Stream, c.stream = _Stream, lambda s: s
    c.device = lambda *_: nullcontext()
    c.synchronize = lambda *_: None
    c.empty_cache = lambda: None
    driver: Any = CudaDriver
    driver.get_active_torch_device = lambda self: CPU
    active: Any = triton.runtime.driver.active
    ask = active.utils.get_device_properties
    active.utils.get_device_properties = lambda index: ask(index or 0)
    testing: Any = triton.testing
    testing.do_bench = testing.do_bench_cudagraph = lambda *_, **__: 1.0
    testing.Mark.run = lambda self, **_: None
    Autotuner._bench = lambda self, *_, **__: [1.0, 1.0, 1.0]
    libtriton.nvidia.cublas.CublasLt = lambda *_: None
    torch.cpu.set_stream = lambda _: None


def main() -> None:
    """Runs the program of the command line."""
    import ctypes

    cuda = ctypes.CDLL("libcuda.so.1")
    cuda.cuInit(0)
    parts = []
    for number in (75, 76):
        v = ctypes.c_int()
        cuda.cuDeviceGetAttribute(ctypes.byref(v), number, 0)
        parts.append(v.value)
    replace(10 * parts[0] + parts[1])
    given = sys.argv[1:]
    with CpuIsCuda():
        if given[0] == "--pytest":
            import pytest

            sys.exit(pytest.main(given[1:]))
        sys.argv = given
        runpy.run_path(given[0], run_name="__main__")


if __name__ == "__main__":
    main()
