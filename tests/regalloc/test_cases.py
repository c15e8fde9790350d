"""Small functions by hand: what becomes of them, and what the checker says."""

import pytest

import orias
from orias.diag import Unsupported
from orias.isa.operand import (
    K_B,
    K_P,
    K_R,
    K_UP,
    K_UR,
    KIND_MASK,
    NONE,
    PAYLOAD_SHIFT,
    PT,
    RZ,
    URZ,
    Opnd,
    const,
    imm,
    label,
    r,
    reg_id,
    word,
)
from orias.ori.builder import Builder
from orias.ori.ir import CallInfo, Func
from orias.ori.text import dump, parse
from orias.ori.verify import verify
from orias.regalloc.allocation_check import check
from orias.regalloc.physical import Trace
from orias.regalloc.register_allocation import allocate_registers
from orias.target.abi import SCRATCH_R
from orias.target.profile import target


def finish(fn: Func, max_regs: int = 255) -> str:
    """Allocate, check, and return the code as text."""
    assert verify(fn) == []
    fn.max_regs = max_regs
    trace = Trace()
    allocate_registers(fn, trace=trace)
    assert verify(fn) == []
    assert trace.before is not None
    assert check(trace.before, fn, trace.items) == []
    return dump(fn)


def straight(kind: str = "entry", arch: str = "sm_90") -> tuple[Func, Builder]:
    fn = Func("k", target(arch), kind)
    fn.blocks = [fn.new_block()]
    return fn, Builder(fn, fn.blocks[0])


def ops(fn: Func) -> list[str]:
    return [i.op.name for i in fn.insts()]


def test_empty_kernel_uses_r1_only() -> None:
    fn, at = straight()
    at.emit("EXIT", [], [])
    finish(fn)
    assert ops(fn) == ["LDC", "EXIT"]
    # ptxas 13.0.88 reports 4 registers for an empty kernel: R0, R1 and two in reserve.
    assert fn.reg_count == 4


def test_swapped_loop_values_are_exchanged() -> None:
    fn = parse(
        """
.func k sm_80 entry ssa
b0: -> b1
  v256:R = S2R SR_TID.X
  v257:R = S2R SR_TID.Y
b1: -> b2 b1
  v258:R = phi v256, v259
  v259:R = phi v257, v258
  v260:P, PT = ISETP.GE.AND v258, v259, PT
  @v260 BRA
b2:
  STG.E -, c[0x0][0x160], URZ, 0x0, v258
  EXIT
""".replace("c[0x0][0x160]", "RZ")
    )
    finish(fn)
    loop = next(b for b in fn.blocks if any(i.op.name == "ISETP.GE.AND" for i in b.insts))
    moves = [i for b in fn.blocks if b is not fn.blocks[0] for i in b.insts if i.op.name in ("MOV", "LOP3.LUT")]
    assert len(moves) == 3
    assert loop.succs


def test_loop_value_that_the_exit_wants_stays_in_place() -> None:
    """Both phis on the latch's edges copy the same value; the exit's outlives its block."""
    fn = parse(
        """
.func k sm_80 entry ssa
b0: -> b1 b2
  v256:R = S2R SR_TID.X
  v257:P, PT = ISETP.GE.AND v256, 0x5, PT
  @v257 BRA b2
b1: -> b2 b1
  v258:R = phi v256, v259
  v259:R = IADD3 v258, 0x1, RZ
  v260:P, PT = ISETP.GE.AND v259, 0x64, PT
  @!v260 BRA b1
b2:
  v261:R = phi v256, v259
  STG.E -, RZ, URZ, 0x0, v261
  EXIT
"""
    )
    finish(fn)
    assert "MOV" not in ops(fn)[1:]


def test_value_changed_by_two_conditional_blocks_stays_in_place() -> None:
    """The copy for the way around the second block copies a copy in its block of what the first one left: one value."""
    fn = parse(
        """
.func k sm_80 entry ssa
b0: -> b1 b2
  v256:R = S2R SR_TID.X
  v257:P, PT = ISETP.GE.AND v256, 0x5, PT
  @v257 BRA b2
b1: -> b2
  v258:R = IADD3 v256, 0x1, RZ
b2: -> b3 ; preds b0 b1
  v259:R = phi v256, v258
b3: -> b4 b5
  v260:R = phi v259
  v261:P, PT = ISETP.GE.AND v260, 0x9, PT
  @v261 BRA b5
b4: -> b5
  v262:R = IADD3 v260, 0x3, RZ
b5: ; preds b3 b4
  v263:R = phi v260, v262
  STG.E -, RZ, URZ, 0x0, v263
  EXIT
"""
    )
    finish(fn)
    assert "MOV" not in ops(fn)[1:]


def test_dying_old_value_needs_no_copy() -> None:
    fn, at = straight("entry", "sm_80")
    a = at.r("S2R", word("SR_TID.X"))
    p = at.setp("ISETP.GE.AND", a, imm(3), PT)
    b = fn.new_vreg(K_R)
    at.emit("IADD3", [b], [a, imm(1), RZ], p, a)
    at.emit("STG.E", [], [NONE, RZ, URZ, imm(0), b])
    at.emit("EXIT", [], [])
    finish(fn)
    assert ops(fn) == ["MOV", "S2R", "ISETP.GE.AND", "IADD3", "STG.E", "EXIT"]


def test_parts_are_made_in_place() -> None:
    fn, at = straight("entry", "sm_80")
    words = [at.r("S2R", word("SR_TID.X")) for _ in range(3)]
    q = at.pack(words[2], words[0], words[1], imm(7))
    at.emit("STG.E.128", [], [NONE, RZ, URZ, imm(0), q])
    at.emit("EXIT", [], [])
    finish(fn)
    assert ops(fn) == ["MOV", "S2R", "S2R", "S2R", "MOV", "STG.E.128", "EXIT"]
    assert fn.blocks[0].insts[-2].src[4] >> PAYLOAD_SHIFT == 4


def test_too_many_uniform_values_go_to_r() -> None:
    fn, at = straight()
    values: list[Opnd] = []
    for k in range(70):
        u = fn.new_vreg(K_UR)
        at.emit("S2UR", [u], [word("SR_CTAID.X" if k % 2 else "SR_CTAID.Y")])
        v = fn.new_vreg(K_UR)
        at.emit("UIADD3", [v], [u, imm(k), URZ])
        values.append(v)
    for v in values:
        at.emit("STG.E", [], [NONE, RZ, URZ, imm(0), at.r("IADD3", RZ, v, RZ)])
    at.emit("EXIT", [], [])
    finish(fn)
    highest = max(d >> PAYLOAD_SHIFT for i in fn.insts() for d in i.dst if d & KIND_MASK == K_UR)
    assert highest == 60
    assert "R2UR" in ops(fn)
    assert fn.frame_size == 0


def test_too_many_predicates_go_to_r() -> None:
    fn, at = straight("entry", "sm_80")
    a = at.r("S2R", word("SR_TID.X"))
    preds = [at.setp("ISETP.GE.AND", a, imm(k), PT) for k in range(12)]
    for p in preds:
        at.emit("STG.E", [], [NONE, RZ, URZ, imm(0), a], guard=p)
    at.emit("EXIT", [], [])
    finish(fn)
    assert "SEL" in ops(fn)
    assert "ISETP.NE.AND" in ops(fn)


def test_too_many_uniform_predicates_go_to_r() -> None:
    fn, at = straight("entry", "sm_80")
    u = fn.new_vreg(K_UR)
    at.emit("S2UR", [u], [word("SR_CTAID.X")])
    preds = []
    for k in range(9):
        p = fn.new_vreg(K_UP)
        at.emit("UISETP.GE.AND", [p, K_UP | 7 << PAYLOAD_SHIFT], [u, imm(k), K_UP | 7 << PAYLOAD_SHIFT])
        preds.append(p)
    for p in preds:
        d = fn.new_vreg(K_UR)
        at.emit("USEL", [d], [u, imm(1), p])
        at.emit("STG.E", [], [NONE, RZ, URZ, imm(0), at.r("IADD3", RZ, d, RZ)])
    at.emit("EXIT", [], [])
    finish(fn)
    assert "UISETP.NE.AND" in ops(fn)


def test_nested_barriers_beyond_twelve_are_saved() -> None:
    fn = Func("k", target("sm_80"))
    depth = 14
    heads = [fn.new_block() for _ in range(depth)]
    tails = [fn.new_block() for _ in range(depth)]
    fn.blocks = [*heads, *reversed(tails)]
    bars: list[Opnd] = []
    at = Builder(fn, heads[0])
    x = at.r("S2R", word("SR_TID.X"))
    for k, h in enumerate(heads):
        at.block = h
        b = fn.new_vreg(K_B)
        at.emit("BSSY", [b], [label(tails[k].id)])
        bars.append(b)
        p = at.setp("ISETP.GE.AND", x, imm(k), PT)
        at.emit("BRA", [], [], guard=p)
        fn.link(h, heads[k + 1] if k + 1 < depth else tails[k])
        fn.link(h, tails[k])
    for k in range(depth - 1, -1, -1):
        at.block = tails[k]
        at.emit("BSYNC", [], [bars[k]])
        if k:
            fn.link(tails[k], tails[k - 1])
    at.emit("STG.E", [], [NONE, RZ, URZ, imm(0), x])
    at.emit("EXIT", [], [])
    finish(fn)
    assert "BMOV.32.CLEAR" in ops(fn)
    assert "BMOV.32" in ops(fn)


def test_values_across_a_call_avoid_what_it_destroys() -> None:
    fn, at = straight("entry", "sm_80")
    kept = [at.r("S2R", word("SR_CLOCKLO")) for _ in range(3)]
    at.emit("copy", [r(4)], [kept[0]])
    call = at.emit("call", [r(4)], [r(4)])
    fn.calls[call.uid] = CallInfo("helper", "helper", 0x3FD)
    result = at.copy(r(4))
    for v in (*kept, result):
        at.emit("STG.E", [], [NONE, RZ, URZ, imm(0), v])
    at.emit("EXIT", [], [])
    finish(fn)
    stored = [i.src[4] >> PAYLOAD_SHIFT for i in fn.insts() if i.op.base == "STG"]
    assert stored == [10, 11, 12, 4]


def test_constants_are_read_again_behind_a_call() -> None:
    fn, at = straight()
    a = at.copy(const(0, 0x210), 2)
    b = at.copy(const(0, 0x218))
    at.emit("STG.E", [], [NONE, a, URZ, imm(0), b])
    call = at.emit("call", [], [])
    fn.calls[call.uid] = CallInfo("helper", "helper", 0x3FD)
    at.emit("STG.E", [], [NONE, a, URZ, imm(4), b])
    at.emit("EXIT", [], [])
    finish(fn)
    assert ops(fn).count("LDC.64") == 2
    assert fn.reg_count < 16  # values in registers that the call keeps would need more


def test_function_saves_what_belongs_to_the_caller() -> None:
    fn, at = straight("func", "sm_90")
    back = at.pack(r(20), r(21))
    x = at.copy(r(4))
    call = at.emit("call", [r(4)], [r(4)])
    fn.calls[call.uid] = CallInfo("f", "abi", SCRATCH_R)
    y = at.r("IADD3", x, r(4), RZ)
    at.emit("copy", [r(4)], [y])
    at.emit("copy", [r(20)], [back | 1 << 11])
    at.emit("copy", [r(21)], [back | 2 << 11])
    at.emit("RET.REL.NODEC", [], [r(20), r(21), r(4)])
    text = finish(fn)
    names = ops(fn)
    assert names[0] == "IADD3"
    assert names.count("STL") == names.count("LDL") == 3
    assert fn.frame_size == 16
    assert fn.spill_stores == 12
    assert text.count("RET.REL.NODEC R20") == 1


def test_frame_addresses() -> None:
    fn, at = straight("func", "sm_80")
    fn.frame_fixed = 24
    back = at.pack(r(20), r(21))
    local = at.r("frame", imm(8))
    incoming = at.r("frame.IN", imm(4))
    at.emit("STL", [], [NONE, local, URZ, imm(0), incoming])
    at.emit("copy", [r(20)], [back | 1 << 11])
    at.emit("copy", [r(21)], [back | 2 << 11])
    at.emit("RET.REL.NODEC", [], [r(20), r(21)])
    finish(fn)
    adds = [i.src[1] >> PAYLOAD_SHIFT for i in fn.insts() if i.op.name == "IADD3"]
    assert adds == [(-24) & 0xFFFFFFFF, 8, 28, 24]


@pytest.mark.parametrize(("size", "words"), [("", 1), (".64", 2)])
def test_compare_and_swap_takes_neighbours(size: str, words: int) -> None:
    fn, at = straight("entry", "sm_80")
    address = at.copy(const(0, 0x160), 2)
    new = at.copy(const(0, 0x170), words)
    old = fn.new_vreg(K_R, words)
    at.emit(f"ATOMG.E.CAS{size}.STRONG.GPU", [old, PT], [NONE, address, URZ, imm(0), RZ, new])
    at.emit(f"STG.E{size}", [], [NONE, address, URZ, imm(8), old])
    at.emit("EXIT", [], [])
    finish(fn)
    swap = next(i for i in fn.insts() if i.op.base == "ATOMG")
    compare = swap.src[4] >> PAYLOAD_SHIFT
    assert compare % (2 * words) == 0
    assert swap.src[5] >> PAYLOAD_SHIFT == compare + words


def test_wide_spills_use_pairs() -> None:
    fn, at = straight("entry", "sm_80")
    base = at.copy(const(0, 0x160), 2)
    quads = [at.r("LDG.E.128", NONE, base, URZ, imm(16 * k), width=4) for k in range(8)]
    for q in quads:
        at.emit("STG.E.128", [], [NONE, base, URZ, imm(0), q])
    at.emit("EXIT", [], [])
    finish(fn, 24)
    assert fn.reg_count <= 24
    assert "STL.64" in ops(fn)
    assert fn.spill_stores == fn.spill_loads > 0
    assert fn.frame_size % 8 == 0


def test_one_reload_serves_the_blocks_behind_it() -> None:
    """A value that gave way to a crowd is loaded once where it is wanted again, not once in each block."""
    text = ".func k sm_80 entry ssa\nb0: -> b1\n  v256:R2 = copy c[0x0][0x160]\n  v257:R = LDG.E -, v256, URZ, 0x0\n"
    text += "".join(f"  v{300 + k}:R = LDG.E -, v256, URZ, 0x{4 * k + 4:x}\n" for k in range(19))
    for turn in range(6):
        text += "".join(f"  STG.E -, v256, URZ, 0x{4 * k + 4 + turn:x}, v{318 - k}\n" for k in range(19))
    text += "b1: -> b3 b2\n  STG.E -, v256, URZ, 0x0, v257\n  v258:P, PT = ISETP.EQ.AND v257, 0x1, PT\n  @v258 BRA\n"
    text += "b2: -> b4\n  STG.E -, v256, URZ, 0x100, v257\n"
    text += "b3: -> b4\n  STG.E -, v256, URZ, 0x200, v257\n"
    text += "b4:\n  STG.E -, v256, URZ, 0x300, v257\n  EXIT\n"
    fn = parse(text)
    finish(fn, 24)
    assert fn.spill_stores == 4
    assert fn.spill_loads == 4
    assert "LDL" in ops(fn)


def test_hopeless_limit_is_refused() -> None:
    fn, at = straight("entry", "sm_80")
    base = at.copy(const(0, 0x160), 2)
    q = [at.r("LDG.E.128", NONE, base, URZ, imm(0), width=4) for _ in range(3)]
    h = at.r("HMMA.16816.F32", q[0], q[1], q[2], width=4)
    at.emit("STG.E.128", [], [NONE, base, URZ, imm(0), h])
    at.emit("EXIT", [], [])
    fn.max_regs = 12
    with pytest.raises(Unsupported, match="more registers than the limit of 12"):
        allocate_registers(fn)


def test_divergent_arms_do_not_share_uniform_registers() -> None:
    """The arms of a divergent branch run one after the other: what the second needs the first must not destroy."""
    fn = Func("k", target("sm_80"))
    b = fn.blocks = [fn.new_block() for _ in range(4)]
    for x, y in ((0, 1), (0, 2), (1, 3), (2, 3)):
        fn.link(b[x], b[y])
    at = Builder(fn, b[0])
    tid = at.r("S2R", word("SR_TID.X"))
    u = fn.new_vreg(K_UR)
    w = fn.new_vreg(K_UR)
    at.emit("S2UR", [u], [word("SR_CTAID.X")])
    at.emit("S2UR", [w], [word("SR_CTAID.Y")])
    at.emit("BRA", [], [], guard=at.setp("ISETP.GE.AND", tid, imm(1), PT))
    fresh = []
    for block, mine in ((b[1], u), (b[2], w)):
        at.block = block
        v = fn.new_vreg(K_UR)
        at.emit("UIADD3", [v], [mine, imm(1), URZ])
        fresh.append(v)
        at.emit("STG.E", [], [NONE, RZ, URZ, imm(0), at.r("IADD3", RZ, v, RZ)])
    at.block = b[3]
    at.emit("EXIT", [], [])
    finish(fn)
    got = {
        i.op.name + str(k): i.dst[0] >> PAYLOAD_SHIFT
        for k, i in enumerate(fn.insts())
        if i.dst and i.dst[0] & KIND_MASK == K_UR
    }
    s2ur = [n for k, n in got.items() if k.startswith("S2UR")]
    added = [n for k, n in got.items() if k.startswith("UIADD3")]
    assert not set(s2ur) & set(added)


@pytest.mark.parametrize("kind", [K_P, K_R, K_UR, K_UP])
def test_copy_cycles_without_a_free_register(kind: int) -> None:
    from orias.isa.operand import reg
    from orias.regalloc.moves import MoveSet

    fn, _ = straight()
    ms = MoveSet(fn, PT, 0, lambda _: 0)
    for d, s in ((1, 2), (2, 3), (3, 1), (4, 1)):
        ms.add(reg(kind, d + 1), reg(kind, s + 1))
    insts = ms.emit()
    state = {n: n for n in range(8)}
    for i in insts:
        d = i.dst[0] >> PAYLOAD_SHIFT
        a = state[i.src[0] >> PAYLOAD_SHIFT] if i.src[0] >> PAYLOAD_SHIFT < 7 else 0
        if i.op.name.endswith("LOP3.LUT") and i.src[3] >> PAYLOAD_SHIFT == 0x3C:
            a ^= state[i.src[1] >> PAYLOAD_SHIFT]
        state[d] = a
    assert [state[n] for n in (2, 3, 4, 5)] == [3, 4, 2, 2]


def test_uniform_registers_are_exchanged_where_none_is_free() -> None:
    """Coordinates of a tensor copy in the opposite order of the parameters that one load reads: the compile was refused."""
    text = """.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .align 64 .b8 m[128], .param .u32 a, .param .u32 b) {
  .reg .b32 %r<3>; .reg .b64 %rd<3>; .reg .pred %p;
  .shared .align 128 .b8 s[1024];
  ld.param.u32 %r1, [a];
  ld.param.u32 %r2, [b];
  mov.b64 %rd1, m;
  cvta.param.u64 %rd2, %rd1;
  elect.sync _|%p, -1;
  @%p cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [%rd2, {%r2, %r1}], [s+512];
  ret;
}
"""
    listing = orias.compile(text, arch="sm_100a").disassemble()
    assert listing.count("ULOP3.LUT") == 3


def test_a_convergence_barrier_may_be_cleared_whatever_it_holds() -> None:
    """The checker took ``BMOV.32.CLEAR RZ, B0`` after a call for a read of what B0 held before."""
    text = """.version 7.0
.target sm_75
.address_size 64
.global .b32 gv[64];
.extern .func (.param .b32 r) h (.param .b32 a);
.visible .func (.param .b32 r) g (.param .b32 a) {
  .reg .b32 %r<8>; .reg .pred %p<2>;
  ld.param.u32 %r1, [a];
  { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call.uni (y), h, (x); ld.param.b32 %r2, [y]; }
  setp.ne.u32 %p1, %r2, -1;
  @%p1 bra L;
  atom.global.add.u32 %r3, [gv+0], %r2; add.u32 %r2, %r2, %r3;
  atom.global.add.u32 %r3, [gv+4], %r2; add.u32 %r2, %r2, %r3;
  atom.global.add.u32 %r3, [gv+8], %r2; add.u32 %r2, %r2, %r3;
  atom.global.add.u32 %r3, [gv+12], %r2; add.u32 %r2, %r2, %r3;
  atom.global.add.u32 %r3, [gv+16], %r2; add.u32 %r2, %r2, %r3;
  atom.global.add.u32 %r3, [gv+20], %r2; add.u32 %r2, %r2, %r3;
  atom.global.add.u32 %r3, [gv+24], %r2; add.u32 %r2, %r2, %r3;
  atom.global.add.u32 %r3, [gv+28], %r2; add.u32 %r2, %r2, %r3;
  atom.global.add.u32 %r3, [gv+32], %r2; add.u32 %r2, %r2, %r3;
L:
  bar.warp.sync -1;
  add.u32 %r2, %r2, 1;
  st.param.b32 [r], %r2;
  ret;
}
"""
    listing = orias.compile(text, arch="sm_75", compile_only=True, self_check=True).disassemble()
    assert listing.index("CALL.ABS") < listing.index("BMOV.32.CLEAR RZ, B0")


@pytest.mark.parametrize("fault", ["constant", "register", "nothing"])
def test_the_checker_knows_what_is_computed_again(fault: str) -> None:
    code = [".func k sm_90 entry ssa", ".regs 24 0", "b0:", "  v256:R = S2R SR_TID.X"]
    code.append("  v258:R = LOP3.LUT v256, 0x1, RZ, 0x3c, !PT")
    code += [f"  v{300 + k}:R = LDS -, v256, URZ, 0x{4 * k:x}" for k in range(20)]
    code += [f"  STS -, v256, URZ, 0x{4 * k + 256:x}, v{300 + k}" for k in range(20)]
    code += ["  STS -, v256, URZ, 0x200, v258", "  EXIT"]
    fn = parse("\n".join(code) + "\n")
    trace = Trace()
    allocate_registers(fn, trace=trace)
    assert trace.before is not None and not fn.spill_stores
    again = next(i for i in fn.insts() if i.op.name == "LOP3.LUT")
    if fault == "constant":
        again.src[1] = imm(2)
    elif fault == "register":
        again.src[0] = r(reg_id(again.src[0]) + 1)
    assert (check(trace.before, fn, trace.items) == []) == (fault == "nothing")
