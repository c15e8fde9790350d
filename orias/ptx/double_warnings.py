"""Warnings about double precision (``-warn-double-usage``)."""

from orias.diag import Diagnostic
from orias.ptx.ast import Instr, Module


def double_uses(module: Module) -> list[Diagnostic]:
    """A warning for each instruction on f64 values (``-warn-double-usage``)."""
    return [
        Diagnostic("warning", "Program is doing double precision computations.", s.line)
        for f in module.functions
        for s in f.body or ()
        if isinstance(s, Instr) and "f64" in s.sig.types
    ]
