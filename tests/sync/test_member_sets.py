"""Warp operations whose member masks differ between the threads of a warp (tiles): each set of members has results of its own."""

from collections.abc import Callable

import numpy as np
import pytest

import orias
from tests.device import load

ARCHES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
SOURCE = """.version 8.7
.target {arch}
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{{
    .reg .b32 %r<20>;
    .reg .b64 %a<5>;
    .reg .pred %p<5>;
    ld.param.u64 %a0, [in];
    ld.param.u64 %a1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %a2, %r1, 4;
    add.s64 %a0, %a0, %a2;
    add.s64 %a1, %a1, %a2;
    ld.global.u32 %r2, [%a0];
    and.b32 %r3, %r1, 24;
    mov.u32 %r4, 255;
    shl.b32 %r4, %r4, %r3;
    setp.gt.u32 %p1, %r2, 4;
    {body}
    shfl.sync.bfly.b32 %r6, %r5, 16, 31, -1;
    st.global.u32 [%a1], %r6;
    ret;
}}
"""
"""The last shuffle is one of the whole warp, which must be together again."""
Tiles = np.ndarray
LANES = np.arange(32).reshape(4, 8)
SOME = np.array([[0, 0, 0, 9, 0, 0, 0, 0], [0] * 8, [9] * 8, np.arange(8) * 5 % 8])


def matches(x: Tiles) -> Tiles:
    return ((x[:, :, None] == x[:, None, :]) << LANES[:, None, :]).sum(axis=2)


BODIES: dict[str, tuple[str, str, Callable[[Tiles], Tiles]]] = {
    "ballot": (
        "sm_75",
        "vote.sync.ballot.b32 %r5, %p1, %r4;",
        lambda x: ((x > 4) << LANES).sum(axis=1, keepdims=True) + 0 * x,
    ),
    "any": (
        "sm_75",
        "vote.sync.any.pred %p2, %p1, %r4; selp.b32 %r5, 1, 2, %p2;",
        lambda x: np.where((x > 4).any(axis=1, keepdims=True), 1, 2) + 0 * x,
    ),
    "all": (
        "sm_75",
        "vote.sync.all.pred %p2, %p1, %r4; selp.b32 %r5, 1, 2, %p2;",
        lambda x: np.where((x > 4).all(axis=1, keepdims=True), 1, 2) + 0 * x,
    ),
    "match": ("sm_75", "match.any.sync.b32 %r5, %r2, %r4;", matches),
    "match all": (
        "sm_75",
        "match.all.sync.b32 %r5|%p2, %r2, %r4;",
        lambda x: np.where((x == x[:, :1]).all(axis=1, keepdims=True), 255 << LANES[:, :1], 0) + 0 * x,
    ),
    "sum": ("sm_80", "redux.sync.add.s32 %r5, %r2, %r4;", lambda x: x.sum(axis=1, keepdims=True) + 0 * x),
    "sum of sums": (
        "sm_80",
        "redux.sync.add.s32 %r7, %r2, %r4; add.s32 %r8, %r7, %r2; redux.sync.max.s32 %r5, %r8, %r4;",
        lambda x: (x.sum(axis=1, keepdims=True) + x).max(axis=1, keepdims=True) + 0 * x,
    ),
    "shuffles": (
        "sm_75",
        "shfl.sync.bfly.b32 %r7, %r2, 1, 31, %r4; add.s32 %r8, %r7, %r2; shfl.sync.bfly.b32 %r5, %r8, 2, 31, %r4;",
        lambda x: (x + x[:, np.arange(8) ^ 1])[:, np.arange(8) ^ 2],
    ),
    "barrier": ("sm_75", "bar.warp.sync %r4; mov.u32 %r5, %r2;", lambda x: x),
    "branch on a vote": (
        "sm_75",
        "vote.sync.any.pred %p2, %p1, %r4; mov.u32 %r5, 77; @!%p2 bra L; ld.volatile.global.u32 %r5, [%a0]; add.s32 %r5, %r5, 1; L:",
        lambda x: np.where((x > 4).any(axis=1, keepdims=True), x + 1, 77),
    ),
    "loop until a vote": (
        "sm_75",
        "mov.u32 %r5, 0; L: add.s32 %r5, %r5, 1; setp.le.u32 %p3, %r5, %r2; vote.sync.any.pred %p2, %p3, %r4; @%p2 bra L;",
        lambda x: x.max(axis=1, keepdims=True) + 1 + 0 * x,
    ),
    "on one side": (
        "sm_75",
        "mov.u32 %r5, 5; setp.lt.u32 %p3, %r1, 16; @%p3 bra L; vote.sync.ballot.b32 %r5, %p1, %r4; L:",
        lambda x: np.where(LANES < 16, 5, ((x > 4) << LANES).sum(axis=1, keepdims=True)),
    ),
}
CASES = [(name, arch) for name, body in BODIES.items() for arch in ARCHES if int(arch[3:]) >= int(body[0][3:])]


def compiled(name: str, arch: str, level: int) -> orias.Cubin:
    return orias.compile(SOURCE.format(arch=arch, body=BODIES[name][1]), arch=arch, opt_level=level, self_check=True)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize(("name", "arch"), CASES)
def test_results(name: str, arch: str, level: int) -> None:
    out = np.zeros(32, np.uint32)
    load(compiled(name, arch, level).data).launch("k", 1, 32, [SOME.ravel().astype(np.uint32), out])
    np.testing.assert_array_equal(out, BODIES[name][2](SOME).ravel()[np.arange(32) ^ 16])


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ARCHES[1:])
@pytest.mark.parametrize("name", ["ballot", "any", "all", "match", "match all", "sum"])
def test_sets_run_one_after_the_other(name: str, arch: str) -> None:
    """A plain WARPSYNC may leave the sets together, and the operation would take part of all; as ptxas has it from sm_90 on."""
    code = compiled(name, arch, 3).disassemble().splitlines()
    at = next(k for k, i in enumerate(code) if "WARPSYNC" in i)
    assert "WARPSYNC.EXCLUSIVE" in code[at]
    assert any("BSSY" in i for i in code[:at])
    assert any("BSYNC" in i for i in code[at:])


@pytest.mark.parametrize("arch", ARCHES)
def test_shuffles_of_a_whole_warp_need_nothing(arch: str) -> None:
    assert "WARPSYNC" not in compiled("shuffles", arch, 3).disassemble()
