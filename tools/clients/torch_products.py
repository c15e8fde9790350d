"""Runs a program for PyTorch on CUDA whose products of matrices are computed on the host in f64: cuBLAS is absent.

    orias exec -- PYTHON tools/clients/torch_products.py [--pytest] PROGRAM [ARGUMENT]...

For programs whose own kernels are compared with PyTorch's products and attention.
"""

import runpy
import sys
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

_ATTENTION = torch.nn.functional.scaled_dot_product_attention
_LINEAR = torch.nn.functional.linear
_METHODS = (Tensor.matmul, Tensor.__matmul__, Tensor.__rmatmul__, Tensor.mm, Tensor.bmm, Tensor.mv)
PRODUCTS = {torch.einsum, torch.matmul, torch.mm, torch.bmm, torch.mv, _ATTENTION, _LINEAR, *_METHODS}


def _host(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.cpu().double() if value.is_floating_point() else value.cpu()
    return type(value)(map(_host, value)) if isinstance(value, (list, tuple)) else value


class HostProducts(TorchFunctionMode):
    """A mode in which products are computed on the host; results have the type and the place of the first operand."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        if func not in PRODUCTS:
            return func(*args, **named)
        flat = [x for a in args for x in (a if isinstance(a, (list, tuple)) else [a])]
        first = next(x for x in flat if isinstance(x, Tensor))
        result = func(*map(_host, args), **{k: _host(v) for k, v in named.items()})
        return result.to(first.dtype).to(first.device)


def main() -> None:
    """Runs the program of the command line."""
    given = sys.argv[1:]
    with HostProducts():
        if given[0] == "--pytest":
            import pytest

            sys.exit(pytest.main(given[1:]))
        sys.argv = given
        runpy.run_path(given[0], run_name="__main__")


if __name__ == "__main__":
    main()
