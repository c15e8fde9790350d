from orias.ori.ir import Func
from orias.ori.text import parse
from orias.schedule.layout import layout


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
    fn = parse("""\
.func k sm_90 entry allocated
b9: -> b0
  R1 = MOV 0x1
b0: -> b0 b1
  @P0 BRA
b2: -> b0
  R0 = MOV 0x1
b1: -> b2
  R0 = MOV 0x3
""")
    layout(fn)
    ids = [b.id for b in fn.blocks]
    assert ids == [9, 0, 10, 2, 1]
    assert [s.id for s in fn.blocks[1].succs] == [10, 1]
    assert [s.id for s in fn.blocks[2].succs] == [0]
    assert shape(fn)[-2:] == [(2, ["MOV", "BRA"]), (1, ["MOV", "BRA"])]
