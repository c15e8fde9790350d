"""Finds registers of warpgroup matrix operations that are overwritten or read while the operation may still use them.

An operation owns its accumulator, and A if A comes from registers, from its issue until a wait for its group
(:mod:`orias.analysis.inflight` has the same rule for code under construction).  A state is a tuple of what each group
in flight reads and writes, the open group first.
"""

from typing import Final

from orias.analysis.access import UR_BASE, unit_name, units_of
from orias.check.code import GOES_ON, Node
from orias.check.hazard_flow import Finding
from orias.isa.decode import Decoded
from orias.isa.gmma_forms import A_WORDS, a_in_registers, accumulator_words, commits, source_widths
from orias.isa.op import F_WGMMA, F_WGMMA_SYNC
from orias.isa.operand import K_R, K_UR, imm_value, in_file, is_imm, is_zero_reg, reg_id

Group = tuple[int, int]
"""Units that the operations of a group still read (A), and those that they write (accumulators)."""
_EMPTY: Final[tuple[Group, ...]] = ((0, 0),)
_DEPTH: Final = 9
"""Number of groups that a state distinguishes; a wait names at most seven."""
_R: Final = (1 << UR_BASE) - 1


def matrix_sources(nodes: list[Node], entries: set[int]) -> list[Finding]:
    """Instructions that change a register of A, or use an accumulator, before the wait for its group."""
    if not any(n.d.op.flags & F_WGMMA for n in nodes):
        return []
    leaders = set(entries)
    for n in nodes:
        if n.flow != GOES_ON:
            leaders.add(n.index + 1)
        leaders.update(n.targets)
    states: dict[int, tuple[Group, ...]] = dict.fromkeys(entries, _EMPTY)
    todo = sorted(entries)
    found: dict[int, Finding] = {}
    while todo:
        start = todo.pop()
        state = states[start]
        index = start
        while True:
            n = nodes[index]
            _check(n, state, found)
            state = _step(n, state)
            index += 1
            if n.flow != GOES_ON or index >= len(nodes) or index in leaders:
                break
        goals = list(n.targets)
        if n.falls and index < len(nodes):
            goals.append(index)
        for goal in goals:
            known = states.get(goal)
            joined = state if known is None else _join(known, state)
            if joined != known:
                states[goal] = joined
                todo.append(goal)
    return list(found.values())


def _join(a: tuple[Group, ...], b: tuple[Group, ...]) -> tuple[Group, ...]:
    if len(a) < len(b):
        a, b = b, a
    return (*[(x[0] | y[0], x[1] | y[1]) for x, y in zip(a, b, strict=False)], *a[len(b) :])


def _step(n: Node, state: tuple[Group, ...]) -> tuple[Group, ...]:
    if n.d.op.flags & F_WGMMA:
        reads, writes = state[0]
        out = ((reads | _a(n), writes | _accumulator(n)), *state[1:])
        if commits(n.d.src):
            out = ((0, 0), *out)
            if len(out) > _DEPTH:
                last = (out[-2][0] | out[-1][0], out[-2][1] | out[-1][1])
                out = (*out[: _DEPTH - 1], last)
        return out
    if n.d.op.flags & F_WGMMA_SYNC and n.d.op.has("DEPBAR"):
        left = next((imm_value(o) for o in n.d.src if is_imm(o)), 0)
        return state[: left + 1]
    return state


def matrix_units(d: Decoded) -> tuple[list[int], list[int]]:
    """All units that a matrix operation reads, and all that it writes, in the width of its operands."""
    reads: list[int] = []
    for o, width in zip(d.src, source_widths(d.op, d.src), strict=True):
        if in_file(o, K_R) or in_file(o, K_UR):
            reads.extend(units_of(o, width))
    return reads, list(units_of(d.dst[0], accumulator_words(d.op)))


def _a(n: Node) -> int:
    """The units of a matrix A in registers."""
    return ((1 << A_WORDS) - 1) << reg_id(n.d.src[0]) if a_in_registers(n.d.src) else 0


def _accumulator(n: Node) -> int:
    """The units of an operation's accumulator."""
    d = n.d.dst[0]
    return 0 if is_zero_reg(d) else ((1 << accumulator_words(n.d.op)) - 1) << reg_id(d)


def _check(n: Node, state: tuple[Group, ...], found: dict[int, Finding]) -> None:
    reads = writes = 0
    for r, w in state:
        reads |= r
        writes |= w
    if not reads | writes or n.index in found:
        return
    written = n.touch.write_set & _R
    if n.d.op.flags & F_WGMMA:
        written = _accumulator(n)
        # An accumulator may be used by the next operation; it must not be the A of one in flight, nor an A in flight C.
        hit, text = written & reads, "writes {}, which a matrix operation in flight reads"
        if not hit:
            hit, text = _a(n) & writes, "reads {} as A, which a matrix operation in flight writes"
    else:
        hit, text = written & (reads | writes), "writes {}, which a matrix operation in flight uses"
        if not hit:
            hit, text = n.touch.read_set & _R & writes, "reads {}, which a matrix operation in flight writes"
    if hit:
        u = (hit & -hit).bit_length() - 1
        found[n.index] = Finding("source", n.index, -1, u, text.format(unit_name(u)))
