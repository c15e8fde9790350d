"""cuda.core: object code from PTX, compiled by Orias."""

from typing import Any

from orias.api import compile_sources
from orias.clients.target import target_of
from orias.options import Options


def object_code(ptx: str | bytes, *, arch: str, opt_level: int = 3) -> Any:
    """A ``cuda.core`` ObjectCode with the cubin of a PTX module; ``arch`` such as ``sm_90`` or ``90``."""
    cubin = compile_sources([("<ptx>", ptx)], Options(target_of(arch), opt_level)).data
    try:
        from cuda.core import ObjectCode
    except ImportError:
        from cuda.core.experimental import ObjectCode
    return ObjectCode.from_cubin(cubin)
