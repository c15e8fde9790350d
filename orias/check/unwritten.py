"""Finds uniform registers and uniform predicates that are read although no path from the kernel's entry writes them.

A forward analysis of what may have been written.  It is restricted to the uniform files: compilers read vector registers
without a value on purpose (halves that are merged, bits that are masked out), but never uniform ones.
"""

from typing import Final

from orias.analysis.access import P_BASE, UP_BASE, UR_BASE, unit_name
from orias.check.code import CALLS, CALLS_AWAY, GOES_ON, Node
from orias.check.hazard_flow import Finding
from orias.isa.gmma_forms import a_in_registers
from orias.isa.op import F_WGMMA
from orias.isa.operand import is_zero_reg, reg_id

_UNIFORM: Final = ((1 << P_BASE) - (1 << UR_BASE)) | 0xFF << UP_BASE
"""The units that are looked at."""


EVERYTHING: Final = _UNIFORM
"""What a function that is called may find written."""
AT_ENTRY: Final[dict[int, int]] = {87: 1 << (UR_BASE + 2)}
"""Number of a target -> uniform units that have a value where a kernel begins: the prologue of sm_87 tests UR2 (docs/facts/targets.md)."""


def unwritten(nodes: list[Node], entry: int, given: int = 0) -> list[Finding]:
    """Reads of uniform units that nothing on any path from the entry (an instruction number) has written.

    `given`: a mask of the units that have a value there.  The nodes are connected (:func:`orias.check.code.connect`).
    """
    everything = 0
    for n in nodes:
        everything |= n.touch.write_set & _UNIFORM
    leaders = {entry}
    for n in nodes:
        if n.flow != GOES_ON:
            leaders.add(n.index + 1)
        leaders.update(n.targets)
    states: dict[int, int] = {entry: given}
    todo = [entry]
    while todo:
        start = todo.pop()
        for goal, state in _through(nodes, leaders, start, states[start], everything):
            known = states.get(goal)
            if known is None or state | known != known:
                states[goal] = state | (known or 0)
                todo.append(goal)
    out: list[Finding] = []
    for start, state in states.items():
        out.extend(_reads(nodes, leaders, start, state))
    return out


def _block(nodes: list[Node], leaders: set[int], start: int) -> list[Node]:
    end = start + 1
    while end < len(nodes) and end not in leaders:
        end += 1
    return nodes[start:end]


def _through(nodes: list[Node], leaders: set[int], start: int, state: int, everything: int) -> list[tuple[int, int]]:
    """The states at the heads of the blocks after a block."""
    block = _block(nodes, leaders, start)
    for n in block:
        state |= n.touch.write_set & _UNIFORM
    last = block[-1]
    if last.flow in (CALLS, CALLS_AWAY):
        # A function may write whatever its section writes; one elsewhere may write anything.
        after = [(last.index + 1, state | (everything if last.flow == CALLS else _UNIFORM))] if last.falls else []
        return after + [(t, state) for t in last.targets]
    out = [(t, state) for t in last.targets]
    if last.falls and last.index + 1 < len(nodes):
        out.append((last.index + 1, state))
    return out


def _reads(nodes: list[Node], leaders: set[int], start: int, state: int) -> list[Finding]:
    out: list[Finding] = []
    for n in _block(nodes, leaders, start):
        bad = _uniform_reads(n) & ~state
        if bad:
            u = (bad & -bad).bit_length() - 1
            out.append(Finding("unwritten", n.index, -1, u, f"reads {unit_name(u)}, which no path writes"))
        state |= n.touch.write_set & _UNIFORM
    return out


def _uniform_reads(n: Node) -> int:
    """The uniform units that an instruction reads.

    The descriptor of a matrix operation is four registers; if A comes from registers the first two do not count.
    """
    if not n.d.op.flags & F_WGMMA:
        return n.touch.read_set & _UNIFORM
    from_registers = a_in_registers(n.d.src)
    descriptor = n.d.src[1 if from_registers else 0]
    reads = n.touch.read_set & _UNIFORM
    if is_zero_reg(descriptor):
        return reads
    first = UR_BASE + reg_id(descriptor)
    return reads & ~(0xF << first) | (0xC if from_registers else 0xF) << first
