"""Bytes of stack that a launch gives each thread."""

import numpy as np
import pytest

import orias
from orias import sim

RECURSIVE = """.version 8.0
.target sm_80
.address_size 64
.func (.reg .b32 %s) sum(.reg .b32 %n)
{
  .local .align 16 .b8 place[64];
  .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %a;
  mov.u64 %a, place; st.local.u32 [%a+32], %n; mov.u32 %s, 0;
  setp.eq.u32 %p, %n, 0; @%p bra DONE;
  sub.u32 %r1, %n, 1;
  call.uni (%r2), sum, (%r1);
  ld.local.u32 %r3, [%a+32]; add.u32 %s, %r2, %r3;
DONE: ret;
}
.visible .entry k(.param .u64 out, .param .u32 n)
{
  .reg .b32 %r<4>; .reg .b64 %d;
  ld.param.u64 %d, [out]; ld.param.u32 %r0, [n];
  call.uni (%r1), sum, (%r0);
  st.global.u32 [%d], %r1; ret;
}
"""
DEPTH = 300


def depth(stack: int) -> int:
    out = np.zeros(1, np.uint32)
    sim.load(orias.compile(RECURSIVE, arch="sm_80").data).launch("k", 1, 1, [out, DEPTH], stack=stack)
    return int(out[0])


def test_recursion_has_as_much_as_is_given() -> None:
    assert depth(1 << 16) == DEPTH * (DEPTH + 1) // 2
    with pytest.raises(sim.SimError, match="outside"):
        depth(4096)


def test_strange_sizes() -> None:
    with pytest.raises(sim.SimError, match="-1 bytes of stack"):
        depth(-1)
    with pytest.raises(sim.SimError, match="at most"):
        depth(1 << 25)
