"""Scoreboards around tensor memory: waits for loads and stores, and the order in which loads arrive."""

import re

import pytest

import orias
from orias.tools.disassemble import disassemble
from tests.tensor_memory.programs import BLOCK, kernel, regs

_LINE = re.compile(r"/\*[0-9a-f]+\*/\s+(.*?) ;.*/\* B(\S{6}) R(\S) W(\S)")


def _code(body: str, arch: str, level: int) -> list[tuple[str, str, str]]:
    """(text, scoreboards waited for, write scoreboard) of each instruction."""
    text = kernel("out", body)
    cubin = orias.compile(
        f".version 9.0\n.target {arch}\n.address_size 64\n{text}", arch=arch, opt_level=level, self_check=True
    ).data
    return [(m[1], m[2], m[4]) for m in map(_LINE.search, disassemble(cubin, control=True).splitlines()) if m]


@pytest.mark.parametrize("level", [0, 1, 3])
@pytest.mark.parametrize("arch", BLOCK)
def test_a_barrier_comes_after_the_loads(arch: str, level: int) -> None:
    body = f"""
    ld.param.u64 %l0, [out];
    ld.global.b32 %mine, [%l0];
    tcgen05.ld.sync.aligned.32x32b.x4.b32 {regs(0, 4)}, [%mine];
    tcgen05.ld.sync.aligned.32x32b.x4.b32 {regs(4, 4)}, [%mine+4];
    tcgen05.wait::ld.sync.aligned;
    bar.sync 0;
    add.u32 %t0, %t0, %t3;
    add.u32 %t0, %t0, %t7;
    st.global.b32 [%l0], %t0;
"""
    code = _code(body, arch, level)
    loads = [k for k, x in enumerate(code) if x[0].startswith("LDTM")]
    barrier = next(k for k, x in enumerate(code) if x[0].startswith("BAR"))
    board = code[loads[-1]][2]
    assert loads[-1] < barrier
    assert board != "-"
    assert any(board in waits for _, waits, _ in code[loads[-1] + 1 : barrier])


@pytest.mark.parametrize("level", [0, 1, 3])
def test_a_barrier_comes_after_the_stores(level: int) -> None:
    body = f"""
    ld.param.u64 %l0, [out];
    ld.global.b32 %mine, [%l0];
    tcgen05.st.sync.aligned.32x32b.x4.b32 [%mine], {regs(0, 4)};
    tcgen05.wait::st.sync.aligned;
    bar.sync 0;
    st.global.b32 [%l0], %t0;
"""
    code = _code(body, "sm_100a", level)
    names = [x[0].split()[0] for x in code]
    store, fence, barrier = (next(k for k, n in enumerate(names) if n.startswith(w)) for w in ("STTM", "FENCE", "BAR"))
    assert store < fence < barrier
    assert any(code[fence][2] in waits for _, waits, _ in code[fence + 1 : barrier])


def test_registers_under_way_are_not_reused() -> None:
    """The halves of 16x32bx2 follow one another without a wait; whoever overwrites their registers waits."""
    body = f"""
    ld.param.u64 %l0, [out];
    ld.global.b32 %mine, [%l0];
    tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {regs(0, 2)}, [%mine], 2;
    tcgen05.wait::ld.sync.aligned;
    st.global.v2.b32 [%l0], {regs(0, 2)};
"""
    code = _code(body, "sm_103a", 3)
    first, second = (k for k, x in enumerate(code) if x[0].startswith("LDTM"))
    assert code[second][1] == "------"
    assert code[first][0].split()[1] == code[second][0].split()[1]
    assert any(code[second][2] in waits for _, waits, _ in code[second + 1 :])
