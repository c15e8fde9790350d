"""Internal subroutines, written in PTX: ``name.ptx`` holds ``.func name`` with ``.reg`` parameters and results."""

import os
from typing import Final

from orias.diag import Unsupported
from orias.ptx.ast import Function
from orias.ptx.parser import parse

_HERE: Final = os.path.dirname(os.path.abspath(__file__))
_cache: Final[dict[str, Function]] = {}


def builtin_function(name: str) -> Function:
    """The parsed subroutine; raises Unsupported if there is none of this name."""
    f = _cache.get(name)
    if f is not None:
        return f
    path = os.path.join(_HERE, name + ".ptx")
    if not os.path.exists(path):
        raise Unsupported(f"The internal subroutine '{name}' is not supported yet")
    with open(path, encoding="utf-8") as file:
        module = parse(file.read())
    for g in module.functions:
        _cache[g.name] = g
    return _cache[name]
