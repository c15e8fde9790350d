"""DoSwitchOptFirst: chains of comparisons of one value with constants become a jump table.

A chain is what compilers make of a ``switch``: ``if (x == 3) goto A; if (x == 7) goto B; ...``, in blocks that do nothing else.  The value less
the lowest constant is the index of a table of code offsets in constant bank 2; a value beyond the table goes where the chain ends, and so do
the places of the table that no comparison names.  Where the threads of a warp differ, every arm is reached either way, and the table saves
comparisons and branches; measured in ``docs/log/phase-probes.md``, "Switches".
"""

from typing import Final, final

from orias.isa.op import op
from orias.isa.operand import (
    INV,
    K_P,
    K_R,
    PT,
    RZ,
    Opnd,
    const,
    flags_of,
    imm,
    imm_value,
    in_file,
    is_bare,
    is_imm,
    is_vreg,
    vreg,
)
from orias.ori.ir import OP_PHI, Block, Func, Inst, JumpTable
from orias.passes.branches import label_targets
from orias.passes.def_use import Values

_BRA: Final = op("BRA")
_BRX: Final = op("BRX")
_EQUAL: Final = frozenset((op("ISETP.EQ.AND"), op("ISETP.EQ.U32.AND")))
_UNEQUAL: Final = frozenset((op("ISETP.NE.AND"), op("ISETP.NE.U32.AND")))
_BEYOND: Final = op("ISETP.GE.U32.AND")
_ADD: Final = op("IADD3")
_SHIFT: Final = op("SHF.L.U32")
_LOAD: Final = op("LDC")
_EXTEND: Final = op("sext64")
_MASK: Final = 0xFFFFFFFF


@final
class _Test:
    """The end of a block that goes to `equal` where `value` is `constant`, and to `other` elsewhere."""

    __slots__ = ("block", "compare", "constant", "equal", "other", "value")

    def __init__(self, block: Block, compare: Inst, equal: Block, other: Block) -> None:
        self.block: Final[Block] = block
        self.compare: Final[Inst] = compare
        self.value: Final[Opnd] = compare.src[0]
        self.constant: Final[int] = imm_value(compare.src[1]) & _MASK
        self.equal: Final[Block] = equal
        self.other: Final[Block] = other


def make_jump_tables(fn: Func) -> bool:
    """Turn chains of at least ``SwitchMinCases`` comparisons into tables; True if there were any."""
    least = fn.knobs.switch_min_cases
    if not least or fn.pool is None or len(fn.blocks) <= least:
        return False
    values = Values(fn)
    kept = label_targets(fn)
    changed = False
    done: set[int] = set()
    for b in list(fn.blocks):
        if b.id in done:
            continue
        chain = _chain(values, kept, b)
        # A chain that makes no table is not tried from its second test on: that would take the square of its length.
        done.update(t.block.id for t in chain)
        if len(chain) >= least and _make_table(fn, chain):
            changed = True
    return changed


def _test(values: Values, b: Block) -> _Test | None:
    """What a block tests at its end, if it compares a register with a constant."""
    if len(b.succs) != 2 or not b.insts or b.insts[-1].op is not _BRA or b.succs[0] is b.succs[1]:
        return None
    guard = b.insts[-1].guard
    if b.insts[-1].src or not is_vreg(guard) or not in_file(guard, K_P) or vreg(guard) >= len(values.defs):
        return None
    d = values.defs[vreg(guard)]
    if d is None or d.guard != PT or len(d.src) != 3 or d.src[2] != PT or d.dst[0] & ~INV != guard & ~INV:
        return None
    if d.op not in _EQUAL and d.op not in _UNEQUAL:
        return None
    x, c = d.src[:2]
    if not is_vreg(x) or not is_bare(x) or not in_file(x, K_R) or not is_imm(c):
        return None
    taken = (d.op in _EQUAL) == (flags_of(guard) & INV == 0)
    return _Test(b, d, b.succs[1 if taken else 0], b.succs[0 if taken else 1])


def _chain(values: Values, kept: set[int], b: Block) -> list[_Test]:
    """The tests of one value from a block on, each in a block of its own after the first."""
    out: list[_Test] = []
    seen: set[int] = set()
    test = _test(values, b)
    while test is not None and (not out or test.value == out[0].value):
        inside = test.block
        if out and not _only_tests(values, kept, test):
            break
        out.append(test)
        seen.add(inside.id)
        if test.other.id in seen:
            break
        test = _test(values, test.other)
    return out


def _only_tests(values: Values, kept: set[int], t: _Test) -> bool:
    """True if a block holds a comparison and its branch, is reached from the test before it only, and nothing else reads the predicate."""
    b = t.block
    if len(b.preds) != 1 or b.id in kept or b.insts[0].op is OP_PHI or b.cold:
        return False
    for inst in b.insts[:-1]:
        if inst is not t.compare:
            return False
    return len(b.insts) == 1 or values.uses[vreg(b.insts[-1].guard)] == 1


def _make_table(fn: Func, chain: list[_Test]) -> bool:
    """Replace the tests of a chain; False if its constants are too far apart or its targets need to know where threads come from."""
    end = chain[-1].other
    arms: dict[int, _Test] = {}
    for t in chain:
        arms.setdefault(t.constant, t)
    low = _lowest(sorted(arms))
    size = max(c - low & _MASK for c in arms) + 1
    if len(arms) < fn.knobs.switch_min_cases or size > len(arms) * fn.knobs.switch_spread:
        return False
    edges = [(t.equal, t.block) for t in chain] + [(end, chain[-1].block)]
    at = fn.pool.table(4 * size) if fn.pool is not None and _agree(edges) else -1
    if at < 0:
        return False
    head = chain[0].block
    table = fn.new_block()
    places: dict[Block, int] = {end: 0}
    fn.enter_like(end, table, chain[-1].block)
    fn.enter_like(end, head, chain[-1].block)
    for t in arms.values():
        if t.equal not in places:
            places[t.equal] = len(places)
            fn.enter_like(t.equal, table, t.block)
    table.succs = list(places)
    picks = [places[arms[low + k & _MASK].equal] if low + k & _MASK in arms else 0 for k in range(size)]
    # The edges and blocks of the chain go, the tests of the head with them.
    for block, source in edges:
        block.drop_pred(block.preds.index(source))
    gone = {t.block.id for t in chain[1:]}
    fn.blocks = [b for b in fn.blocks if b.id not in gone]
    loc = head.insts[-1].loc
    head.insts.pop()
    value = chain[0].value
    index = value
    if low:
        index = fn.new_vreg(K_R)
        head.insts.append(fn.new_inst(_ADD, [index], [value, imm(-low), RZ], loc=loc))
    beyond = fn.new_vreg(K_P)
    head.insts.append(fn.new_inst(_BEYOND, [beyond, PT], [index, imm(size), PT], loc=loc))
    head.insts.append(fn.new_inst(_BRA, [], [], guard=beyond, loc=loc))
    head.succs = [table, end]
    table.preds = [head]
    scaled, offset, address = fn.new_vreg(K_R), fn.new_vreg(K_R), fn.new_vreg(K_R, 2)
    brx = fn.new_inst(_BRX, [], [address], loc=loc)
    table.insts = [
        fn.new_inst(_SHIFT, [scaled], [index, imm(2), RZ], loc=loc),
        fn.new_inst(_LOAD, [offset], [const(2, at), scaled], loc=loc),
        fn.new_inst(_EXTEND, [address], [offset], loc=loc),
        brx,
    ]
    fn.tables[brx.uid] = JumpTable(at, picks)
    fn.blocks.insert(fn.blocks.index(head) + 1, table)
    return True


def _lowest(constants: list[int]) -> int:
    """The constant from which the others are nearest, counted upwards around the end of the range."""
    gaps = [(c - constants[k - 1] & _MASK, c) for k, c in enumerate(constants)]
    return max(gaps)[1]


def _agree(edges: list[tuple[Block, Block]]) -> bool:
    """True if the phis of each target take the same on all edges to it."""
    first: dict[int, int] = {}
    for target, source in edges:
        k = target.preds.index(source)
        j = first.setdefault(target.id, k)
        for inst in target.insts:
            if inst.op is not OP_PHI:
                break
            if inst.src[k] != inst.src[j]:
                return False
    return True
