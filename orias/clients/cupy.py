"""CuPy: a RawModule from PTX, compiled by Orias."""

import os
import tempfile
from typing import Any

from orias.api import compile_sources
from orias.clients.target import target_of
from orias.options import Options


def raw_module(ptx: str | bytes, *, arch: str = "", opt_level: int = 3) -> Any:
    """A ``cupy.RawModule`` with the cubin of a PTX module, for ``arch`` or the current device; CuPy reads it at once."""
    import cupy

    target = target_of(arch or cupy.cuda.Device().compute_capability)
    cubin = compile_sources([("<ptx>", ptx)], Options(target, opt_level)).data
    handle, path = tempfile.mkstemp(suffix=".cubin")
    try:
        with os.fdopen(handle, "wb") as f:
            f.write(cubin)
        module = cupy.RawModule(path=path)
        module.compile()
    finally:
        os.unlink(path)
    return module
