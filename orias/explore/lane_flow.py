"""Follows the values of the threads of a warp through the finished code of a section.

The result is an estimate: it holds for the first warp of a block, if its threads take the same paths.  A block whose size the kernel
does not state counts as one with at least 32 threads in x, and pointers given to the kernel as aligned to 256 bytes.
"""

from typing import Final, final

from orias.analysis.access import P_BASE, UNITS, UR_BASE
from orias.check.code import CALLS, CALLS_AWAY, ENDS, JUMPS, RETURNS, Node
from orias.check.section_flow import CodeBlock
from orias.explore.lane_values import (
    DATA,
    INDEX,
    THREAD,
    UNIFORM,
    WARP,
    Lanes,
    Pattern,
    added,
    bits_reversed,
    bitwise,
    constant,
    exact,
    joined,
    multiplied,
    negated,
    pattern,
    shifted_left,
    shifted_right,
    worst,
)
from orias.isa.op import F_SAME, F_SPECIAL, F_VARYING
from orias.isa.operand import (
    INV,
    K_CONST,
    K_P,
    K_R,
    K_UP,
    K_UR,
    NEG,
    PT,
    Opnd,
    imm_value,
    is_imm,
    kind_of,
    modifiers_of,
    reg_id,
    suffix_of,
    word_text,
)

State = dict[int, Lanes]

_SHIFT_OF_SUFFIX: Final = {8: 2, 9: 3, 10: 4}
"""S_X4, S_X8 and S_X16 -> bits."""
_POINTER: Final = pattern(8, (0,) * WARP)
_STACK_POINTER: Final = 1
_PATIENCE: Final = 6
"""Visits of a block after which what still changes counts as not aligned."""
_BY_CONVERGENCE: Final = frozenset(("DIV", "CONV"))
"""Branches that ask whether the warp is together."""
_OTHER_INDEX: Final = ("SR_TID", "SR_EQMASK", "SR_LTMASK", "SR_LEMASK", "SR_GTMASK", "SR_GEMASK")
_FILES: Final = {K_R: 0, K_UR: UR_BASE, K_P: P_BASE, K_UP: P_BASE + 8}


@final
class LaneFlow:
    """The values of a section.  `block_size`: threads of a block in x, y and z, zeros if unknown."""

    def __init__(
        self, nodes: list[Node], blocks: list[CodeBlock], entry: bool, block_size: tuple[int, int, int]
    ) -> None:
        self._nodes: Final[list[Node]] = nodes
        self._special: Final[dict[str, Lanes]] = _thread_index(block_size)
        self.addresses: Final[dict[int, list[Lanes]]] = {}
        """Instruction -> what is known of each of its addresses."""
        self.conditions: Final[dict[int, Lanes]] = {}
        """Instruction that may leave the path -> its condition, a pattern if all threads of the warp agree, else the reason."""
        start: State = {_STACK_POINTER: UNIFORM}
        self._run(blocks, start if entry else {**dict.fromkeys(range(UNITS), DATA), **start})

    def _run(self, blocks: list[CodeBlock], start: State) -> None:
        number = {b.start: k for k, b in enumerate(blocks)}
        before: list[State | None] = [None] * len(blocks)
        visits = [0] * len(blocks)
        if blocks:
            before[0] = start
        work = {0} if blocks else set()
        while work:
            k = min(work)
            work.discard(k)
            known = before[k]
            assert known is not None
            state = dict(known)
            visits[k] += 1
            for i in range(blocks[k].start, blocks[k].end):
                self._step(self._nodes[i], state)
            for t, _ in blocks[k].edges:
                s = number.get(t, -1)
                if s >= 0 and _meet(before, s, state, visits[s] > _PATIENCE):
                    work.add(s)

    def _step(self, n: Node, state: State) -> None:
        d = n.d
        if (
            n.flow in (JUMPS, RETURNS, ENDS)
            and n.falls
            and d.op.base != "WARPSYNC"
            and not _BY_CONVERGENCE & set(d.op.mods)
        ):
            deciding = [_read(o & ~INV, state) for o in (n.guard, *d.src) if kind_of(o) in (K_P, K_UP, K_R, K_UR)]
            self.conditions[n.index] = UNIFORM if _same(deciding) else worst(*deciding)
        if d.op.addr:
            self.addresses[n.index] = [_address(d.src, at, state) for at in d.op.addr]
        if n.flow in (CALLS, CALLS_AWAY):
            for u in list(state):
                state[u] = DATA
            state[_STACK_POINTER] = UNIFORM
            return
        value, rest = self._value(n, state)
        first = True
        guarded = n.guard != PT
        for u, _ in n.touch.writes:
            new = value if first else rest
            first = False
            if guarded and u in state:
                new = joined(state[u], new)
            state[u] = new

    def _value(self, n: Node, state: State) -> tuple[Lanes, Lanes]:
        """What an instruction computes: the first word, and the others (upper words and predicates)."""
        d = n.d
        op, base, mods = (
            d.op,
            d.op.base.removeprefix("U") if d.op.base[:2] in ("UI", "US", "UL") else d.op.base,
            d.op.mods,
        )
        src = [_read(o, state) for o in d.src if kind_of(o) not in (K_P, K_UP)]
        guards = [_read(o, state) for o in d.src if kind_of(o) in (K_P, K_UP)]
        if op.flags & F_SAME:
            return UNIFORM, UNIFORM
        if op.flags & F_SPECIAL:
            names = [word_text(o) for o in d.src if kind_of(o) == 10]
            value: Lanes = next((self._special[name] for name in names if name in self._special), UNIFORM)
            return value, UNIFORM
        if op.flags & F_VARYING:
            return worst(THREAD, *src), worst(THREAD, *src)
        if base in ("LDC", "LDCU"):
            value = UNIFORM if _same(src) else worst(DATA, *src)
            return (_POINTER if value == UNIFORM and "64" in mods else value), value
        if op.loads():
            value = UNIFORM if _same(src) else DATA
            return value, value
        value = _computed(base, mods, d.src, src)
        if base not in ("SETP", "ISETP") and isinstance(value, Pattern):
            return value, UNIFORM
        if base == "ISETP" and len(src) >= 2 and _compared(mods, src[0], src[1]):
            src = [UNIFORM]
        every = [*src, *guards]
        other: Lanes = UNIFORM if _same(every) else worst(*every)
        return (value if isinstance(value, Pattern) else other if value == "" else value), other


def _is_sum(base: str) -> bool:
    """True for additions of two or three words, on either datapath."""
    return base.removeprefix("U").removeprefix("V").startswith("IADD")


def _is_move(base: str) -> bool:
    return base.removeprefix("U").startswith("MOV") or base == "R2UR"


def _computed(base: str, mods: tuple[str, ...], operands: list[Opnd], src: list[Lanes]) -> Lanes:
    """The first word that an arithmetic operation computes; empty for one without a rule."""
    if _is_move(base) or (base == "IMAD" and "MOV" in mods):
        return (
            next((s for s, o in zip(src, operands, strict=False) if kind_of(o) != K_P and not _is_zero(o)), exact(0))
            if base == "IMAD"
            else src[0]
        )
    if base == "IMAD" and "HI" not in mods and "X" not in mods and len(src) >= 3:
        third = src[2]
        if "WIDE" in mods and kind_of(operands[2]) == K_CONST:
            third = _POINTER
        return added(multiplied(src[0], src[1]), third)
    if _is_sum(base) and "X" not in mods:
        out: Lanes = exact(0)
        for x in src[:3]:
            out = added(out, x)
        return out
    if base == "LEA" and "HI" not in mods and len(src) >= 3:
        return added(shifted_left(src[0], src[-1]), src[1])
    if _is_sum(base) or base == "LEA":
        # The upper word of an address: the same in all threads unless the address crosses 4 GiB.
        return UNIFORM if "X" in mods and all(isinstance(x, Pattern) for x in src) else ""
    if base == "SHF" and mods[:1] == ("L",) and "HI" not in mods:
        return shifted_left(src[0], src[1])
    if base == "SHF" and mods[:1] == ("R",) and "HI" in mods and _is_zero(operands[0]):
        return shifted_right(src[2], src[1])
    if base == "SHF" and "S32" in mods and "HI" in mods:
        return shifted_right(src[2], src[1])
    if base == "SHF" and "HI" in mods and "U64" in mods:
        return UNIFORM if all(isinstance(x, Pattern) for x in src) else ""
    if base == "LOP3" and len(src) >= 4 and is_imm(operands[3]):
        return bitwise((src[0], src[1], src[2]), imm_value(operands[3]))
    if base == "SGXT" and "U32" in mods and is_imm(operands[1]):
        return bitwise((src[0], exact((1 << imm_value(operands[1])) - 1), exact(0)), 0xC0)
    if base == "BREV":
        return bits_reversed(src[0])
    if base == "SEL" and len(src) >= 2:
        return joined(src[0], src[1]) if all(isinstance(x, Pattern) for x in src[:2]) else ""
    return ""


def _compared(mods: tuple[str, ...], a: Lanes, b: Lanes) -> bool:
    """Whether the threads of every warp agree in a comparison of the thread index with a constant."""
    bound = constant(b)
    if not isinstance(a, Pattern) or a != Pattern(WARP, INDEX) or bound is None:
        return False
    first = bound + 1 if "GT" in mods or "LE" in mods else bound
    return first % WARP == 0 and not {"EQ", "NE"} & set(mods)


def _meet(before: list[State | None], s: int, state: State, impatient: bool) -> bool:
    """Joins a state into that before a block; whether it changed."""
    old = before[s]
    if old is None:
        before[s] = dict(state)
        return True
    changed = False
    for u, value in state.items():
        known = old.get(u)
        if known is None:
            old[u] = value
            changed = True
        elif known != value:
            new = joined(known, value)
            if impatient and isinstance(new, Pattern) and new != known:
                new = pattern(0, new.lanes, new.rows)
            if new != known:
                old[u] = new
                changed = True
    return changed


def _read(o: Opnd, state: State) -> Lanes:
    """The value of an operand."""
    kind = kind_of(o)
    if is_imm(o):
        return exact(imm_value(o))
    if kind == K_CONST:
        value: Lanes = UNIFORM
    elif kind in _FILES:
        ident = reg_id(o)
        if ident == (7 if kind in (K_P, K_UP) else 255):
            return exact(0)
        value = state.get(_FILES[kind] + ident, DATA)
    else:
        return UNIFORM
    if o & NEG:
        return negated(value)
    if o & INV and isinstance(value, Pattern):
        return added(negated(value), exact(-1))
    if modifiers_of(o) and isinstance(value, Pattern) and not value.uniform and suffix_of(o) not in (0, 12):
        return THREAD
    return value


def _address(src: list[Opnd], at: int, state: State) -> Lanes:
    """The address whose four operands begin at a position."""
    base, more, offset = src[at + 1], src[at + 2], src[at + 3]
    shift = _SHIFT_OF_SUFFIX.get(suffix_of(base), 0)
    value = _read(base & ~(15 << 7), state)
    if shift:
        value = shifted_left(value, exact(shift))
    for o in (more, offset):
        value = added(value, _read(o, state))
    return value


def _is_zero(o: Opnd) -> bool:
    return (kind_of(o) in (K_R, K_UR) and reg_id(o) == 255) or (is_imm(o) and imm_value(o) == 0)


def _same(values: list[Lanes]) -> bool:
    return all(isinstance(v, Pattern) and v.uniform for v in values)


def _thread_index(size: tuple[int, int, int]) -> dict[str, Lanes]:
    """The special registers that differ between the threads of a warp, in the first warp of a block."""
    x, y, _ = size
    x = x or WARP
    y = y or WARP
    out: dict[str, Lanes] = {
        "SR_LANEID": Pattern(32, INDEX),
        "SR_TID.X": Pattern(32, tuple([k % x for k in INDEX])),
        "SR_TID.Y": Pattern(32, tuple([k // x % y for k in INDEX])),
        "SR_TID.Z": Pattern(32, tuple([k // x // y for k in INDEX])),
    }
    for name in _OTHER_INDEX:
        out[name] = THREAD
    return out
