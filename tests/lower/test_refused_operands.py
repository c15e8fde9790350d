"""Operands that the front end takes and that no code is made for end in an error of the input."""

import pytest

import orias


def test_function_as_a_predicate() -> None:
    text = """.version 8.5
.target sm_80
.address_size 64
.func f() { ret; }
.visible .entry k() { .reg .pred %p<3>; or.pred %p1, f, %p2; ret; }
"""
    with pytest.raises(orias.CompileError, match="A predicate operand must be a predicate register"):
        orias.compile(text, arch="sm_80")
