"""Relocatable objects and extensible programs, ours and ptxas's, run like what nvlink makes of them."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import orias
from orias import sim
from tests.lower.test_relocatable import CODE, linked
from tests.lower.test_run import results
from tests.nvtools import LIMIT_S, tool

SHARED = """.version 8.0
.target sm_80
.address_size 64
.const .align 4 .u32 table[4] = {10, 20, 30, 40};
.shared .align 4 .u32 first[3];
.shared .align 16 .u32 second[32];
.extern .shared .align 16 .b8 dynamic[];
.visible .func (.param .b32 r) f(.param .b32 x) {
.reg .b32 %r<9>; .reg .b64 %d<4>; .local .align 8 .b8 room[2048];
ld.param.b32 %r0, [x]; mov.u64 %d0, room; mad.wide.u32 %d1, %r0, 64, %d0; st.local.b32 [%d1], %r0; ld.local.b32 %r1, [%d1];
ld.const.b32 %r2, [table+4]; ld.shared.b32 %r3, [first+8]; mov.u32 %r4, second; mad.lo.u32 %r4, %r0, 4, %r4;
ld.shared.b32 %r5, [%r4]; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r5; st.param.b32 [r], %r1; ret; }
.visible .entry k(.param .u64 out) {
.reg .b32 %r<16>; .reg .b64 %d<8>; .reg .pred %p;
ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; st.shared.b32 [first+8], 7; mov.u32 %r1, second; mad.lo.u32 %r1, %r0, 4, %r1;
mul.lo.u32 %r2, %r0, %r0; st.shared.b32 [%r1], %r2; mov.u32 %r3, dynamic; mad.lo.u32 %r3, %r0, 4, %r3; st.shared.b32 [%r3], 1000; bar.sync 0;
{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r0; call.uni (b), f, (a); ld.param.b32 %r4, [b]; }
ld.shared.b32 %r5, [%r3]; add.u32 %r4, %r4, %r5; mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1; st.global.b32 [%d0], %r4; ret; }
"""
CALLER = """.version 8.0
.target sm_80
.address_size 64
.extern .func g();
.visible .entry k() { call.uni g; ret; }
"""


def objects(text: str, arch: str, folder: Path, extensible: bool = False) -> list[bytes]:
    """ptxas's object, or program that a linker may extend, and ours of two levels."""
    source, out = folder / "k.ptx", folder / "k.o"
    source.write_text(text)
    kind = "-ewp" if extensible else "-c"
    subprocess.run([tool("ptxas"), kind, "-arch", arch, str(source), "-o", str(out)], check=True, timeout=LIMIT_S)
    ours = [
        orias.compile(text, arch=arch, opt_level=level, compile_only=not extensible, extensible=extensible).data
        for level in (0, 3)
    ]
    return [out.read_bytes(), *ours]


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100a", "sm_120a"])
def test_like_the_linked_file(arch: str, tmp_path: Path) -> None:
    """Calls, pointers to functions, jump tables, variables and helper functions."""
    theirs, *ours = objects(CODE, arch, tmp_path)
    want = results(linked(theirs, arch, tmp_path), 0)
    for data in (theirs, *ours):
        assert results(data, 0) == want


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("extensible", [False, True])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_103a", "sm_110a", "sm_121a"])
def test_shared_memory_constants_and_stack(arch: str, extensible: bool, tmp_path: Path) -> None:
    """In both the part of shared memory that the system has, and the stack of callees, are not stated yet."""
    i = np.arange(32)
    for data in objects(SHARED, arch, tmp_path, extensible):
        out = np.zeros(32, np.uint32)
        sim.load(data).launch("k", 1, 32, [out], shared=128)
        np.testing.assert_array_equal(out, i + 20 + 7 + i * i + 1000)


def test_what_is_not_in_the_object_is_named() -> None:
    data = orias.compile(CALLER, arch="sm_90", compile_only=True).data
    with pytest.raises(sim.LoadError, match="g is not in this object: link it first"):
        sim.load(data)


COMMON = """.version 8.0
.target sm_80
.address_size 64
.common .global .align 8 .u64 env;
.visible .entry unused(.param .u64 out) { .reg .b64 %d; ld.param.u64 %d, [out]; st.global.b32 [%d], 7; ret; }
.visible .entry used(.param .u64 out) { .reg .b64 %d<2>; ld.param.u64 %d0, [out]; ld.global.b64 %d1, [env]; st.global.b64 [%d0], %d1; ret; }
"""


@pytest.mark.parametrize("with_use", [False, True])
def test_a_common_variable_needs_a_linker(with_use: bool) -> None:
    """An object of Numba has one that nothing uses; where something does, it is named."""
    text = COMMON if with_use else COMMON[: COMMON.index(".visible .entry used")]
    cubin = orias.compile(text, arch="sm_80", compile_only=True).data
    if with_use:
        with pytest.raises(sim.SimError, match="env is a common variable, which a linker places"):
            sim.load(cubin)
        return
    out = np.zeros(1, np.uint32)
    sim.load(cubin).launch("unused", 1, 1, [out])
    assert out[0] == 7
