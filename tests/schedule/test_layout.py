from orias.isa.operand import PT
from orias.ori.ir import Func
from orias.ori.text import parse
from orias.schedule.block_order import layout


def shape(fn: Func) -> list[tuple[int, list[str]]]:
    return [(b.id, [("!" if i.guard >> 6 & 1 else "") + i.op.name for i in b.insts]) for b in fn.blocks]


def test_falls_through_and_branches() -> None:
    fn = parse("""\
.func k sm_90 entry allocated
b0: -> b1 b2
  @P0 BRA
b1: -> b3
  R0 = MOV 0x1
b2: -> b3
  R0 = MOV 0x2
b3:
  EXIT
""")
    layout(fn)
    assert shape(fn) == [(0, ["BRA"]), (1, ["MOV", "BRA"]), (2, ["MOV"]), (3, ["EXIT"])]


def test_inverts_a_branch_to_the_next_block() -> None:
    fn = parse("""\
.func k sm_90 entry allocated
b0: -> b2 b1
  @P0 BRA
b1: -> b2
  R0 = MOV 0x1
b2:
  EXIT
""")
    layout(fn)
    assert shape(fn) == [(0, ["!BRA"]), (1, ["MOV"]), (2, ["EXIT"])]
    assert [s.id for s in fn.blocks[0].succs] == [1, 2]


def test_cold_block_moves_and_empty_blocks_vanish() -> None:
    fn = parse("""\
.func k sm_90 entry allocated
b0: -> b1 b4
  @P0 BRA
b4: -> b3 ; cold
  R0 = MOV 0x2
b1: -> b5
b5: -> b3
b3:
  EXIT
""")
    layout(fn)
    assert shape(fn) == [(0, ["BRA"]), (3, ["EXIT"]), (4, ["MOV", "BRA"])]
    assert [s.id for s in fn.blocks[0].succs] == [3, 4]


def test_two_far_successors_need_a_hop() -> None:
    """A chain takes b1 after its only other predecessor, and the loop back to itself needs a branch of its own."""
    fn = parse("""\
.func k sm_90 entry allocated
b9: -> b0
  R1 = MOV 0x1
b0: -> b0 b3
  @P0 BRA
b2: -> b3
  R0 = MOV 0x1
b3: -> b0 b4
  @P1 BRA
b4: -> b2 b5
  @P2 BRA
b5:
  EXIT
""")
    layout(fn)
    assert [b.id for b in fn.blocks] == [9, 0, 3, 4, 2, 5] or any(b.id > 9 for b in fn.blocks)
    placed = {b.id: k for k, b in enumerate(fn.blocks)}
    for b in fn.blocks:
        last = b.insts[-1].op.base if b.insts else ""
        if last == "BRA" and b.insts[-1].guard == PT:
            assert len(b.succs) == 1
        elif b.succs:
            assert placed[b.succs[0].id] == placed[b.id] + 1, "the fall-through is the next block"


def test_a_chain_saves_a_branch() -> None:
    fn = parse("""\
.func k sm_90 entry allocated
b0: -> b3 b1
  @P0 BRA
b1:
  EXIT
b3: -> b4
  R0 = MOV 0x1
b4:
  EXIT
""")
    layout(fn)
    assert "BRA" not in [i.op.base for b in fn.blocks[1:] for i in b.insts]
