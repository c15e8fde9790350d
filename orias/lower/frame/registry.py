"""The registry of handlers: which function lowers which PTX instruction.

Handlers register with :func:`lowers` under (instruction name, type class).  The look-up uses the class of the *last*
type suffix of the opcode (``set.eq.u32.f32`` is a ``f32`` operation), then ``any``.  Files with handlers that few
programs need are imported at the first instruction name without a handler (:mod:`orias.lower.frame.families`).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from orias.diag import Unsupported
from orias.lower.frame.families import load_all
from orias.ptx.ast import Instr

if TYPE_CHECKING:
    from orias.lower.frame.context import Ctx

Handler: TypeAlias = "Callable[[Ctx, Instr], None]"

TYPE_CLASS: Final[dict[str, str]] = {
    "pred": "pred",
    "f32": "f32",
    "tf32": "f32",
    "f32x2": "f32x2",
    "f64": "f64",
    "f16": "f16",
    "f16x2": "f16",
    "bf16": "bf16",
    "bf16x2": "bf16",
}
"""Type class of a PTX type; every other type is ``int``."""

_handlers: Final[dict[tuple[str, str], Handler]] = {}
_names: Final[set[str]] = set()
"""Instruction names with a handler."""


def type_class(types: tuple[str, ...]) -> str:
    """The class (int, pred, f32, f32x2, f64, f16, bf16) of the last type; ``any`` without types."""
    return TYPE_CLASS.get(types[-1], "int") if types else "any"


def lowers(*names: str, types: str = "any") -> Callable[[Handler], Handler]:
    """Decorator: the function lowers these instructions for the type classes in `types` (comma separated)."""

    def put(f: Handler) -> Handler:
        for name in names:
            _names.add(name)
            for cls in types.split(","):
                key = (name, cls.strip())
                assert key not in _handlers, f"{key} has two handlers"
                _handlers[key] = f
        return f

    return put


def lookup(i: Instr) -> Handler:
    """The handler of an instruction; raises Unsupported with its line if there is none."""
    name = i.sig.name
    if name not in _names:
        load_all()
    h = _handlers.get((name, type_class(i.sig.types)))
    if h is None:
        h = _handlers.get((name, "any"))
        if h is None:
            raise Unsupported(f"Instruction '{i.sig.text}' is not supported yet", i.line)
    return h
