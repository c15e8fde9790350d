"""Warnings about double precision (``-warn-double-usage``)."""

from typing import Final

from orias.ptx.ast import Instr
from orias.ptx.parser_state import State

DOUBLES: Final = "Program is doing double precision computations."


def note_doubles(state: State, instr: Instr) -> None:
    """Warn of an instruction on f64 values (``-warn-double-usage``), once it is read without an error."""
    if "f64" in instr.sig.types:
        state.warning(DOUBLES, instr.line)
