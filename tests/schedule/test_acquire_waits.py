"""What an acquire, a fence and a memory barrier wait for before what follows them runs, as ptxas 13.0.88 has it."""

import pytest

import orias
from orias.check import check_cubin
from orias.isa.decode import Decoded
from orias.timing.ctl import read_barrier, stall, wait_mask, write_barrier
from tests.schedule.decoded import code_of

_TEXT = """
.version 8.7
.target {arch}
.address_size 64
.visible .entry k(.param .u64 o, .param .u64 p, .param .u64 q)
{{
  .reg .u64 %o, %p, %q;
  .reg .u32 %r<5>;
  .shared .align 4 .b32 s[4];
  ld.param.u64 %o, [o];
  ld.param.u64 %p, [p];
  ld.param.u64 %q, [q];
  ld.global.u32 %r1, [%q + 64];
  {body}
  ld.global.u32 %r3, [%q];
  st.global.u32 [%o], %r1;
  st.global.u32 [%o + 4], %r2;
  st.global.u32 [%o + 8], %r3;
  ret;
}}
"""
ARCHES = ("sm_75", "sm_80", "sm_90", "sm_100a", "sm_120")


def code(arch: str, body: str) -> list[Decoded]:
    return code_of(orias.compile(_TEXT.format(arch=arch, body=body), arch=arch).data)


def waits_for(insts: list[Decoded], k: int, of: Decoded) -> bool:
    """True if instruction `k` waits for the result of another one."""
    return wait_mask(insts[k].ctl) >> write_barrier(of.ctl) & 1 == 1


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize(
    ("body", "access", "waits"),
    [
        ("ld.acquire.gpu.global.u32 %r2, [%p];", "STRONG", "CCTL"),
        ("ld.acquire.sys.global.u32 %r2, [%p];", "STRONG", "CCTL"),
        ("ld.acquire.cta.global.u32 %r2, [%p];", "STRONG", "NOP"),
        ("ld.acquire.cta.shared.u32 %r2, [s];", "LDS", "NOP"),
        ("atom.acquire.gpu.global.cas.b32 %r2, [%p], 0, 1;", "ATOMG", "CCTL"),
        ("atom.acq_rel.cta.global.cas.b32 %r2, [%p], 0, 1;", "ATOMG", "NOP"),
        ("atom.acquire.cta.shared.cas.b32 %r2, [s], 0, 1;", "ATOMS", "NOP"),
        ("atom.acquire.gpu.global.exch.b32 _, [%p], 1; mov.u32 %r2, 0;", "ATOMG", "CCTL"),
        ("atom.acquire.cta.shared.exch.b32 _, [s], 1; mov.u32 %r2, 0;", "ATOMS", "NOP"),
    ],
)
def test_an_acquire_waits_for_its_access(arch: str, body: str, access: str, waits: str) -> None:
    """Else L1 is invalidated before the value is there, or a later load overtakes it; other loads go on."""
    insts = code(arch, body)
    first = next(k for k, d in enumerate(insts) if access in d.op.name)
    then = next(k for k in range(first, len(insts)) if insts[k].op.base == waits)
    assert waits_for(insts, then, insts[first])
    others = [d for d in insts[:then] if d.op.base == "LDG" and not d.op.has("STRONG")]
    assert not any(waits_for(insts, then, d) for d in others)
    assert any(d.op.base == "LDG" for d in insts[then:])


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("scope", ["cta", "gpu", "sys"])
@pytest.mark.parametrize("kind", ["acq_rel", "sc"])
def test_a_fence_waits_for_all_loads(arch: str, scope: str, kind: str) -> None:
    """The barrier of fence.sc does so by itself; so does that of fence.acq_rel.cta before sm_90."""
    insts = code(arch, f"mov.u32 %r2, 0; fence.{kind}.{scope};")
    barrier = next(k for k, d in enumerate(insts) if d.op.base == "MEMBAR")
    before = next(d for d in insts[:barrier] if d.op.base == "LDG")
    after = next(k for k in range(barrier, len(insts)) if insts[k].op.base == "LDG")
    waiting = [k for k in range(barrier + 1, after) if waits_for(insts, k, before)]
    if kind == "sc" or (scope == "cta" and arch in ("sm_75", "sm_80")):
        assert not waiting
    else:
        assert [insts[k].op.base for k in waiting] == ["NOP" if scope == "cta" else "CCTL"]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("level", [1, 3])
@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("fence", ["fence.sc.cta", "fence.acq_rel.cta", "membar.cta"])
def test_what_follows_a_barrier_of_the_block_waits_for_it(arch: str, fence: str, level: int) -> None:
    """On targets where it signals that the accesses before it are ordered."""
    insts = code(arch, f"mov.u32 %r2, 0; {fence}; bar.sync 0;")
    k = next(k for k, d in enumerate(insts) if d.op.base == "MEMBAR")
    board = read_barrier(insts[k].ctl)
    if arch in ("sm_90", "sm_100a"):
        assert wait_mask(insts[k + 1].ctl) >> board & 1
    else:
        assert board == 7


@pytest.mark.parametrize("arch", ARCHES)
def test_an_error_barrier_waits_for_itself(arch: str) -> None:
    """By its stall count of 0."""
    insts = code(arch, "mov.u32 %r2, 0; fence.acq_rel.gpu;")
    assert [stall(d.ctl) for d in insts if d.op.base == "ERRBAR"] == [0]


@pytest.mark.parametrize("arch", ["sm_100a", "sm_120"])
@pytest.mark.parametrize(
    ("body", "access", "waits"),
    [
        ("ld.acquire.gpu.shared.u32 %r2, [%r1];", "LDS", "CCTL"),
        ("ld.acquire.cta.shared.u32 %r2, [%r1];", "LDS", "NOP"),
        ("ld.shared.u32 %r4, [%r1]; ld.acquire.gpu.global.u32 %r2, [%p]; add.u32 %r2, %r2, %r4;", "STRONG", "CCTL"),
        ("ld.shared.u32 %r4, [%r1]; ld.acquire.cta.global.u32 %r2, [%p]; add.u32 %r2, %r2, %r4;", "STRONG", "NOP"),
        ("ld.shared.u32 %r4, [%r1]; atom.acquire.gpu.exch.b32 %r2, [%p], %r4;", "ATOM", "CCTL"),
    ],
)
def test_an_acquire_follows_its_access(arch: str, body: str, access: str, waits: str) -> None:
    """Capsules state both as one instruction: neither a load before it nor one of shared memory is taken for the access."""
    insts = code(arch, body)
    first = next(k for k, d in enumerate(insts) if access in d.op.name)
    assert insts[first + 1].op.base == waits
    assert waits_for(insts, first + 1, insts[first])


@pytest.mark.parametrize("arch", ARCHES)
def test_cycles_are_not_left_to_an_error_barrier_under_a_guard(arch: str) -> None:
    """Where the guard leaves it out it waits for nothing, and its stall count stays 0."""
    body = """mov.u32 %r2, 0;
  .reg .pred %g, %c;
  setp.eq.u32 %g, %r1, 7;
  @%g fence.acq_rel.gpu;
  setp.lt.u32 %c, %r1, 5;
  @%g fence.acq_rel.gpu;
  selp.b32 %r2, 1, 2, %c;"""
    data = orias.compile(_TEXT.format(arch=arch, body=body), arch=arch).data
    assert check_cubin(data) == []
    assert {stall(d.ctl) for d in code_of(data) if d.op.base == "ERRBAR"} == {0}
