"""ConvertMemoryToRegisterOrUniform, before it: accesses to local arrays at computed places become choices among constant places.

A load takes all elements and chooses one by the bits of the place, a store writes each element under a predicate; then all of the frame
can become registers.  It is done where ptxas does it (docs/facts/optimizer.md): all arrays of the frame must be worth it, that is, have
enough accesses at constant places for the elements that those at computed places go through.
"""

from typing import Final, final

from orias.analysis.cfg import dominators, find_loops
from orias.isa.op import LOCAL, Op, op
from orias.isa.operand import (
    K_NONE,
    K_P,
    K_R,
    NOT_PT,
    PT,
    RZ,
    SP,
    URZ,
    Opnd,
    imm,
    imm_signed,
    imm_value,
    is_bare,
    is_imm,
    is_vreg,
    vreg,
)
from orias.lower.frame.params import extract_selector
from orias.ori.ir import OP_COPY, OP_PACK, OP_PHI, Block, Func, Inst
from orias.passes.access_size import is_load, is_signed, is_store, size_of
from orias.passes.addends import addends
from orias.passes.local_words import is_known_access, is_small, shows_frame

_FRAME: Final = op("frame")
_ADD: Final = op("IADD3")
_AND: Final = op("LOP3.LUT")
_EQUAL: Final = op("ISETP.EQ.AND")
_LOAD: Final = op("LDL")
_PERMUTE: Final = op("PRMT")
_SELECT: Final = op("SEL")
_UNEQUAL: Final = op("ISETP.NE.AND")
_WORD: Final = 4
_HALF: Final = 2
_FREE_ELEMENTS: Final = 6
"""Elements that an access at a computed place goes through at no cost."""
_LOOP_WEIGHT: Final = 12
_DEEPEST: Final = 4
_COST: Final = 5
_GAIN: Final = 24
_ALLOWANCE: Final = 15
"""An array becomes registers if `_GAIN` for each access at a constant place is at least `_COST` for each element, less `_ALLOWANCE`."""


@final
class _Access:
    """An access at a computed place, with the number of its array."""

    __slots__ = ("array", "block", "inst")

    def __init__(self, inst: Inst, block: Block, array: int) -> None:
        self.inst: Final[Inst] = inst
        self.block: Final[Block] = block
        self.array: Final[int] = array


def choose_places(fn: Func) -> bool:
    """Replace all accesses to the frame at computed places, if that is worth it; True if it was done."""
    if not fn.frame_variables or fn.moves_stack or not is_small(fn):
        return False
    arrays = _addresses(fn)
    if not arrays:
        return False
    found = _computed(fn, arrays)
    if not found or not _pays(fn, found):
        return False
    at = {a.inst.uid: a for a in found}
    for b in {a.block.id: a.block for a in found}.values():
        out: list[Inst] = []
        for inst in b.insts:
            access = at.get(inst.uid)
            if access is None:
                out.append(inst)
            else:
                _Choice(fn, access, out).write()
        b.insts = out
    for inst in fn.insts():
        if inst.op is _FRAME:
            inst.op = OP_COPY
    return True


def _addresses(fn: Func) -> dict[int, int]:
    """The registers with an address in the frame and the number of the array it is in; empty if one may be in two arrays."""
    starts = {at: k for k, (at, _) in enumerate(fn.frame_variables)}
    arrays: dict[int, int] = {}
    insts = list(fn.insts())
    for inst in insts:
        if inst.op is _FRAME:
            place = imm_value(inst.src[0])
            array = starts.get(place, _array_of(fn, place, 1))
            if array < 0 or inst.guard != PT:
                return {}
            arrays[vreg(inst.dst[0])] = array
    grown = bool(arrays)
    while grown:
        grown = False
        for inst in insts:
            for o in _handed_on(inst):
                if not is_vreg(o) or vreg(o) not in arrays:
                    continue
                array, d = arrays[vreg(o)], inst.dst[0]
                if arrays.get(vreg(d), array) != array:
                    return {}
                if vreg(d) not in arrays:
                    arrays[vreg(d)] = array
                    grown = True
    return arrays


def _handed_on(inst: Inst) -> list[Opnd]:
    """The sources of which an address in the frame makes the result one."""
    if len(inst.dst) != 1 or not is_vreg(inst.dst[0]):
        return []
    if inst.op is OP_COPY or inst.op is OP_PHI:
        return [*inst.src, inst.old]
    if inst.op is _SELECT:
        return [*inst.src[:2], inst.old]
    return [*addends(inst), inst.old]


def _array_of(fn: Func, place: int, size: int) -> int:
    """The number of the array that holds all of some bytes of the frame, or -1."""
    for k, (at, length) in enumerate(fn.frame_variables):
        if at <= place and place + size <= at + length:
            return k
    return -1


def _computed(fn: Func, arrays: dict[int, int]) -> list[_Access]:
    """All accesses at computed places; none if addresses in the frame are used for anything else."""
    found: list[_Access] = []
    for b in fn.blocks:
        for inst in b.insts:
            if shows_frame(fn, inst):
                return []
            through = [o for o in inst.uses() if is_vreg(o) and vreg(o) in arrays]
            if not through:
                continue
            if any(not is_bare(o) for o in through):
                return []
            if inst.dst and is_vreg(inst.dst[0]) and vreg(inst.dst[0]) in arrays:
                if not _keeps_array(inst, through):
                    return []
            elif len(through) == 1 and _is_choosable(fn, inst, through[0], arrays[vreg(through[0])]):
                found.append(_Access(inst, b, arrays[vreg(through[0])]))
            else:
                return []
    return found


def _keeps_array(inst: Inst, through: list[Opnd]) -> bool:
    """True if the result is an address in the array in any case: one address with something added, or a choice of addresses."""
    if any(o not in _handed_on(inst) for o in through):
        return False
    old = [] if inst.old == K_NONE else [inst.old]
    if inst.op is OP_COPY or inst.op is OP_PHI or inst.op is _SELECT:
        return all(o in through for o in (*(inst.src[:2] if inst.op is _SELECT else inst.src), *old))
    return sum(o in through for o in inst.src) == 1 and all(o in through for o in old)


def _is_choosable(fn: Func, inst: Inst, address: Opnd, array: int) -> bool:
    """True for a load or store, at an address, of a half or of words that the array holds in whole numbers."""
    if not (is_load(inst) or is_store(inst)) or inst.op.space != LOCAL or inst.src[0] != K_NONE or inst.src[2] != URZ:
        return False
    if inst.src[1] != address or not is_imm(inst.src[3]):
        return False
    size, (at, length) = size_of(inst.op), fn.frame_variables[array]
    if size < _HALF or at % size or length < size:
        return False
    return is_load(inst) or inst.src[4] == RZ or is_known_access(fn, _at_place(fn, inst, at))


def _at_place(fn: Func, inst: Inst, place: int) -> Inst:
    """The access, at a constant place."""
    return Inst(inst.op, list(inst.dst), [K_NONE, SP, URZ, imm(place), *inst.src[4:]], inst.guard, inst.old, inst.loc)


def _pays(fn: Func, found: list[_Access]) -> bool:
    """True if each array has enough accesses at constant places, by how often they run."""
    find_loops(fn, dominators(fn))
    count = len(fn.frame_variables)
    gain, cost, most = [0] * count, [0] * count, [0] * count
    for b in fn.blocks:
        for inst in b.insts:
            if (is_load(inst) or is_store(inst)) and inst.src[1] == SP and inst.op.space == LOCAL:
                array = _array_of(fn, imm_signed(inst.src[3]), size_of(inst.op))
                if array >= 0 and size_of(inst.op) >= _HALF:
                    gain[array] += _weight(b)
                elif any(a.array == array for a in found):
                    return False
    for a in found:
        length, size = fn.frame_variables[a.array][1], size_of(a.inst.op)
        if max(length // size, length // _WORD) > fn.knobs.local_choice_limit:
            return False
        cost[a.array] += _weight(a.block) * (length // size - _FREE_ELEMENTS)
        most[a.array] = max(most[a.array], _weight(a.block))
    used = {a.array for a in found}
    return all(gain[k] > 0 and _GAIN * gain[k] >= _COST * cost[k] - _ALLOWANCE * most[k] for k in used)


def _weight(b: Block) -> int:
    return int(_LOOP_WEIGHT ** min(b.depth, _DEEPEST))


@final
class _Choice:
    """Writes what stands for one access to `out`."""

    __slots__ = ("_fn", "_inst", "_length", "_out", "_place", "_size", "_start")

    def __init__(self, fn: Func, access: _Access, out: list[Inst]) -> None:
        inst = access.inst
        self._fn: Final[Func] = fn
        self._inst: Final[Inst] = inst
        self._out: Final[list[Inst]] = out
        self._size: Final[int] = size_of(inst.op)
        at, self._length = fn.frame_variables[access.array]
        self._start: Final[int] = at - at % _WORD
        """Halves are read in words, so the array begins with a word."""
        self._place: Final[Opnd] = self._made(_ADD, [inst.src[1], imm(imm_signed(inst.src[3]) - self._start), RZ])
        """Distance of the access in bytes from there; the compiler that wrote the PTX knows that it is in the array."""

    def write(self) -> None:
        """Append the instructions."""
        if is_store(self._inst):
            self._store()
        elif self._size < _WORD:
            self._load_half()
        else:
            self._load_words()

    def _made(self, o: Op, src: list[Opnd]) -> Opnd:
        d = self._fn.new_vreg(K_R)
        self._out.append(self._fn.new_inst(o, [d], src, loc=self._inst.loc))
        return d

    def _condition(self, o: Op, src: list[Opnd]) -> Opnd:
        d = self._fn.new_vreg(K_P)
        self._out.append(self._fn.new_inst(o, [d, PT], src, loc=self._inst.loc))
        return d

    def _bit(self, number: int) -> Opnd:
        """The condition that a bit of the place is set."""
        bit = self._made(_AND, [self._place, imm(1 << number), RZ, imm(0xC0), NOT_PT])
        return self._condition(_UNEQUAL, [bit, RZ, PT])

    def _bits(self, size: int, count: int) -> list[Opnd]:
        """The conditions that choose among `count` elements of `size` bytes."""
        first = size.bit_length() - 1
        return [self._bit(first + k) for k in range((count - 1).bit_length())]

    def _chosen(self, words: list[Opnd], bits: list[Opnd]) -> Opnd:
        """The word with the number that the bits say."""
        for bit in bits:
            pairs = range(0, len(words), 2)
            words = [
                self._made(_SELECT, [words[k + 1], words[k], bit]) if k + 1 < len(words) else words[k] for k in pairs
            ]
        return words[0]

    def _word(self, at: int) -> Opnd:
        return self._made(_LOAD, [K_NONE, SP, URZ, imm(self._start + at)])

    def _end(self, o: Op, src: list[Opnd]) -> None:
        inst = self._inst
        inst.op, inst.src = o, src
        if inst.old == K_NONE:
            inst.guard = PT
        self._out.append(inst)

    def _load_words(self) -> None:
        count = self._length // self._size
        bits = self._bits(self._size, count)
        each = range(0, self._size, _WORD)
        words = [self._chosen([self._word(k * self._size + at) for k in range(count)], bits) for at in each]
        self._end(OP_COPY if len(words) == 1 else OP_PACK, words)

    def _load_half(self) -> None:
        count = (self._length + _WORD - 1) // _WORD
        word = self._chosen([self._word(_WORD * k) for k in range(count)], self._bits(_WORD, count))
        signed = is_signed(self._inst.op)
        halves = [self._made(_PERMUTE, [word, imm(extract_selector(at, 16, signed)), RZ]) for at in (_HALF, 0)]
        self._end(_SELECT, [*halves, self._bit(1)])

    def _store(self) -> None:
        inst, fn = self._inst, self._fn
        for at in range(0, self._length - self._size + 1, self._size):
            here = self._condition(_EQUAL, [self._place, imm(at), inst.guard])
            src = [K_NONE, SP, URZ, imm(self._start + at), inst.src[4]]
            self._out.append(fn.new_inst(inst.op, [], src, here, loc=inst.loc))
