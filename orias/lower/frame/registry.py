"""The registry of handlers: which function lowers which PTX instruction.

Handlers register with :func:`lowers` under (instruction name, type class).  The look-up uses the class of the *last*
type suffix of the opcode (``set.eq.u32.f32`` is a ``f32`` operation), then ``any``.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from orias.lower.frame.context import Ctx
from orias.ptx.ast import Instr

Handler: TypeAlias = Callable[[Ctx, Instr], None]

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


def is_registered(name: str) -> bool:
    """Whether an instruction name has a handler."""
    return name in _names


def handler(i: Instr) -> Handler | None:
    """The handler of an instruction; None if there is none."""
    name = i.sig.name
    found = _handlers.get((name, type_class(i.sig.types)))
    return found if found is not None else _handlers.get((name, "any"))
