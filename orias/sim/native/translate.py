"""Decoded instructions as the records of ``vector.c``.

An instruction that has no record here is executed by its builder; both give the same results.  A record is made only of forms
that cannot fail, or whose failing the C code leaves to the builder.
"""

from collections.abc import Callable
from typing import Final

from orias.isa.decode import Decoded
from orias.isa.operand import (
    K_UP,
    PT,
    in_file,
)
from orias.sim.core.site import Site
from orias.sim.core.state import UNIFORM_ROWS
from orias.sim.native.record import IMMEDIATE, Record, Unknown
from orias.sim.native.record_format import CODES, PAIRS
from orias.sim.native.translate_accesses import ACCESSES
from orias.sim.native.translate_floats import FLOATS
from orias.sim.native.translate_halves import HALVES
from orias.sim.native.translate_integers import INTEGERS
from orias.sim.native.translate_moves import MOVES

_TRANSLATE: Final[tuple[dict[str, Callable[[Record], None]], ...]] = (
    {**MOVES, **INTEGERS, **FLOATS, **ACCESSES},
    HALVES,
)
"""Mnemonic -> what fills its record; the second one has forms that the first one does not know."""


def record(d: Decoded, address: int, registers: int) -> tuple[object, ...] | None:
    """The record of an instruction at an address of code, None for one that its builder has to execute.

    `registers`: rows of registers that every machine has.
    """
    name = d.op.means or d.op.base
    for table in _TRANSLATE:
        translate = table.get(name)
        made = translate and _filled(translate, d, address, registers)
        if made:
            return made
    return None


def _filled(translate: Callable[[Record], None], d: Decoded, address: int, registers: int) -> tuple[object, ...] | None:
    s = Site(d.op, d.dst, d.src, address, d.op.means != "")
    r = Record(s)
    guard = -1
    try:
        if d.guard != PT:
            if s.uniform and not in_file(d.guard, K_UP):
                return None
            # Guards are read for threads, those of uniform instructions too.
            guard = r.condition(d.guard) | (16 if in_file(d.guard, K_UP) else 0)
        translate(r)
    except (Unknown, IndexError, StopIteration, KeyError, ValueError):
        return None
    top = max(r.top, r.d + (2 if r.code in PAIRS else r.words) - 1)
    if top >= (UNIFORM_ROWS if s.uniform else registers) or r.top_uniform >= UNIFORM_ROWS:
        return None
    r.sources += [(IMMEDIATE, 0, 0, 0)] * (3 - len(r.sources))
    if len(r.sources) > 3:
        return None
    kind, flag, value, high = zip(*r.sources, strict=True)
    return (
        CODES.index(r.code), guard, r.d, 1 if s.uniform else 0, kind, flag, value, high, tuple(r.p), tuple(r.q), r.x, r.y, r.z, 0,
    )  # fmt: skip
