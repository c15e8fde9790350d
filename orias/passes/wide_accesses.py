"""LateExpansion, after it: loads and stores of neighbouring words of shared memory are one.

Two or four words, in loads and stores of one or two, that are aligned as a whole, as far as the low bits of the address are
known, are loaded together where the first of them was if nothing between may write memory, and stored together where the last of
them was if nothing between may read or write the same place.  Words that are read once are loaded together only if the limit of
registers holds those that then arrive early.
"""

from typing import Final, final

from orias.analysis.known_bits import trailing_zeros, zeros_of_words
from orias.analysis.liveness import Liveness, liveness
from orias.isa.op import F_CALL, F_FENCE, F_LEAVES, F_READ, F_SIDE, F_TERM, F_TOUCHES_SHARED, F_WRITE, Op, op
from orias.isa.operand import (
    K_NONE,
    K_R,
    PT,
    RZ,
    URZ,
    Opnd,
    has_lane,
    imm_value,
    in_file,
    is_bare,
    is_imm,
    is_vreg,
    reg,
    vreg,
    with_pair_lane,
    with_word_lane,
)
from orias.ori.decisions import MERGED, Decision
from orias.ori.ir import OP_PACK, Block, Func, Inst
from orias.passes.access_size import data_words, is_load, is_store, size_of
from orias.passes.equal_blocks import Follower, chains, keeps_loads
from orias.passes.words import rename_words
from orias.target.register_steps import MOST_REGISTERS, live_words

_BARRIER: Final = F_WRITE | F_FENCE | F_CALL | F_LEAVES
_WORD: Final = 4
_STORES: Final = ((4, op("STS.128")), (2, op("STS.64")))
_STORE_BASE: Final = "STS"
_CLOCK: Final = "CS2R"

Wide = tuple[tuple[int, Op], ...]
"""The operations that load several words at once, with the number of words, most first."""


@final
class _Store:
    """A store of one or two words: its place in the block, and the words it writes."""

    __slots__ = ("inst", "place", "words")

    def __init__(self, place: int, inst: Inst, words: list[Opnd]) -> None:
        self.place: Final[int] = place
        self.inst: Final[Inst] = inst
        self.words: Final[list[Opnd]] = words


def widen_accesses(fn: Func) -> bool:
    """Merge loads and stores block by block; True if any were."""
    name = fn.target.spelling("shared_load")
    pair = op(f"{name}.64")
    narrow, wide = (op(name), pair), ((4, op(f"{name}.128")), (2, pair))
    loads = sum(i.op in narrow for b in fn.blocks for i in b.insts)
    storing = [b for b in fn.blocks if sum(i.op.base == _STORE_BASE for i in b.insts) > 1]
    if loads < 2 and not storing:
        return False
    zeros = zeros_of_words(fn)
    words: dict[int, Opnd] = {}
    if loads > 1:
        # Without a limit loads that come early cost no spills.
        limit = _Limit(fn) if fn.max_regs < MOST_REGISTERS else None
        for chain in chains(fn, fn.knobs.vectorization_distance):
            _widen(fn, chain, zeros, narrow, wide, words, limit)
    changed = False
    for b in storing:
        changed = _Stores(fn, b, zeros).run() or changed
    if words:
        rename_words(fn, words)
    return bool(words) or changed


def _alignment(zeros: bytearray, base: Opnd) -> int:
    """The bytes, at most 16, that an address is a multiple of."""
    known = zeros[vreg(base)] if is_vreg(base) and is_bare(base) else trailing_zeros([], base)
    return 1 << min(known, 4)


@final
class _Limit:
    """What a function under a limit of registers has live, and how often it reads each register."""

    __slots__ = ("live", "reads")

    def __init__(self, fn: Func) -> None:
        self.live: Final[Liveness] = liveness(fn)
        self.reads: Final = [0] * len(fn.vkind)
        """Reads of any of its words, by register."""
        for inst in fn.insts():
            for o in inst.uses():
                if is_vreg(o):
                    self.reads[vreg(o)] += 1


@final
class _Room:
    """The words that find a register, at most, after each instruction of a chain (0: before the first); negative where some find none."""

    __slots__ = ("left", "reads")

    def __init__(self, fn: Func, chain: list[Follower], limit: _Limit) -> None:
        most, lv = live_words(fn.max_regs), limit.live
        count = lv.words(fn, K_R).count
        self.reads: Final[list[int]] = limit.reads
        self.left: list[int] = []
        for f in chain:
            self.left += [most] * sum(len(x.insts) for x in f.between)
            self.left += [most - count(mask) for mask in lv.before(f.block)]
        self.left.append(most - count(lv.live_out[chain[-1].block.id]))

    def take(self, fn: Func, members: list[tuple[int, Inst]]) -> bool:
        """Let loads arrive with the first of them, if there is a register for each of their words all the way; True if so."""
        members = sorted(members, key=lambda m: m[0])
        early, at = 0, members[-1][0]
        spans: list[tuple[int, int, int]] = []
        for k, inst in reversed(members[1:]):
            spans.append((k, at, early))
            early, at = early + fn.width(inst.dst[0]), k
        spans.append((members[0][0], at, early))
        # Words that several instructions read, such as factors of products, stay in registers between them in any case.
        if sum(self.reads[vreg(i.dst[0])] - fn.width(i.dst[0]) for _, i in members) <= 0 and any(
            words and min(self.left[start:end], default=words) < words for start, end, words in spans
        ):
            return False
        for start, end, words in spans:
            for k in range(start, end):
                self.left[k] -= words
        return True


def _widen(
    fn: Func,
    chain: list[Follower],
    zeros: bytearray,
    narrow: tuple[Op, Op],
    wide: Wide,
    words: dict[int, Opnd],
    limit: _Limit | None,
) -> None:
    room: _Room | None = None
    groups: dict[Opnd, dict[int, tuple[int, Inst]]] = {}
    gone: set[int] = set()
    k = 0
    for f in chain:
        k += sum(len(x.insts) for x in f.between)
        for inst in f.block.insts:
            k += 1
            if inst.op.flags & _BARRIER:
                if groups and keeps_loads(fn, inst):
                    _take(fn, zeros, wide, groups, words, gone, room)
                    groups = {}
            elif inst.op in narrow and _is_plain_load(fn, inst):
                if room is None and limit is not None:
                    room = _Room(fn, chain, limit)
                groups.setdefault(inst.src[1], {}).setdefault(imm_value(inst.src[3]), (k, inst))
    _take(fn, zeros, wide, groups, words, gone, room)
    if gone:
        for f in chain:
            f.block.insts = [i for i in f.block.insts if i.uid not in gone]


def _is_plain_address(inst: Inst) -> bool:
    """True for an unguarded access at a register, or zero, plus a constant."""
    return inst.guard == PT and inst.src[0] == K_NONE and inst.src[2] == URZ and is_imm(inst.src[3])


def _is_plain_load(fn: Func, inst: Inst) -> bool:
    """True for an unguarded load of one or two words into a register, with a constant offset."""
    if inst.old != K_NONE or len(inst.dst) != 1 or len(inst.src) != 4 or not _is_plain_address(inst):
        return False
    d = inst.dst[0]
    return is_vreg(d) and in_file(d, K_R) and fn.width(d) <= 2


def _take(
    fn: Func,
    zeros: bytearray,
    wide: Wide,
    groups: dict[Opnd, dict[int, tuple[int, Inst]]],
    words: dict[int, Opnd],
    gone: set[int],
    room: _Room | None,
) -> None:
    """Merge the loads of a stretch; `words` gets what stands for their results, `gone` the instructions that go."""
    for base, found in groups.items():
        if len(found) < 2:
            continue
        aligned = _alignment(zeros, base)
        for count, load in wide:
            size = count * _WORD
            if aligned < size:
                continue
            for start in sorted(found):
                offsets = [] if start % size else _covering(fn, found, start, start + size)
                if len(offsets) < 2:
                    continue
                members = [found.pop(o) for o in offsets]
                first = min(k for k, _ in members)
                if max(k for k, _ in members) - first > fn.knobs.vectorization_distance:
                    continue
                if room is not None and not room.take(fn, members):
                    found.update(zip(offsets, members, strict=True))
                    continue
                whole = fn.new_vreg(K_R, count)
                leader = next(i for k, i in members if k == first)
                for o, (_, inst) in zip(offsets, members, strict=True):
                    n = (o - start) // _WORD
                    single = fn.width(inst.dst[0]) == 1
                    words[vreg(inst.dst[0])] = with_word_lane(whole, n) if single else with_pair_lane(whole, n // 2)
                    if inst is not leader:
                        gone.add(inst.uid)
                _note(fn, "loads", leader, [i for _, i in members], size)
                leader.op, leader.dst = load, [whole]
                leader.src[3] = members[0][1].src[3]


def _covering(fn: Func, found: dict[int, tuple[int, Inst]], start: int, end: int) -> list[int]:
    """The offsets of loads that together fetch the bytes from `start` to `end`, pairs at even words; none if there are no such loads."""
    offsets: list[int] = []
    at = start
    while at < end and at in found:
        size = fn.width(found[at][1].dst[0]) * _WORD
        if at % size:
            return []
        offsets.append(at)
        at += size
    return offsets if at == end else []


def _note(fn: Func, what: str, leader: Inst, members: list[Inst], size: int) -> None:
    """Record that several accesses are one."""
    if fn.decisions is not None:
        lines = ", ".join(map(str, sorted({i.loc for i in members})))
        text = f"{len(members)} {what} of shared memory (lines {lines}) are one of {size} bytes"
        fn.decisions.append(Decision(MERGED, leader.loc, text, {what: len(members), "bytes": size}))


@final
class _Stores:
    """The stores of one block."""

    __slots__ = ("base", "block", "fn", "gone", "kept", "packs", "zeros")

    def __init__(self, fn: Func, b: Block, zeros: bytearray) -> None:
        self.fn: Final[Func] = fn
        self.block: Final[Block] = b
        self.zeros: Final[bytearray] = zeros
        self.base: Opnd = K_NONE
        self.kept: dict[int, _Store] = {}
        """Stores at the one base that may still become one, by offset."""
        self.gone: Final[set[int]] = set()
        self.packs: Final[dict[int, Inst]] = {}
        """What comes before a merged store (uid)."""

    def run(self) -> bool:
        """Merge; True if any were."""
        for k, inst in enumerate(self.block.insts):
            flags = inst.op.flags
            if inst.op.base == _STORE_BASE and self._keep(k, inst):
                continue
            if flags & (F_FENCE | F_CALL | F_TERM) or inst.op.base == _CLOCK:
                self._take()
            elif flags & (F_READ | F_WRITE):
                if not (is_load(inst) or is_store(inst)) or (flags & F_TOUCHES_SHARED and not self._apart(inst)):
                    self._take()
            elif flags & F_SIDE:
                self._take()
        self._take()
        if not self.gone:
            return False
        out: list[Inst] = []
        for inst in self.block.insts:
            if inst.uid in self.packs:
                out.append(self.packs[inst.uid])
            if inst.uid not in self.gone:
                out.append(inst)
        self.block.insts = out
        return True

    def _keep(self, k: int, inst: Inst) -> bool:
        """Keep a store for later, if it is a plain one; those that it may overwrite are done with."""
        if not is_store(inst) or not _is_plain_address(inst) or size_of(inst.op) not in (_WORD, 2 * _WORD):
            return False
        words = data_words(self.fn, inst)
        if not words:
            return False
        if inst.src[1] != self.base or not self._apart(inst):
            self._take()
            self.base = inst.src[1]
        self.kept[imm_value(inst.src[3])] = _Store(k, inst, words)
        return True

    def _apart(self, inst: Inst) -> bool:
        """True if an access certainly touches no word of the kept stores."""
        if not self.kept:
            return True
        if len(inst.src) < 4 or not _is_plain_address(inst) or inst.src[1] != self.base:
            return False
        start = imm_value(inst.src[3])
        end = start + max(_WORD, size_of(inst.op))
        return all(end <= o or o + size_of(s.inst.op) <= start for o, s in self.kept.items())

    def _take(self) -> None:
        """Merge what was kept."""
        kept, self.kept = self.kept, {}
        if len(kept) < 2:
            return
        aligned = _alignment(self.zeros, self.base)
        for count, store in _STORES:
            size = count * _WORD
            if aligned < size:
                continue
            for start in sorted(kept):
                if start % size:
                    continue
                offsets: list[int] = []
                at = start
                while at < start + size and at in kept:
                    offsets.append(at)
                    at += size_of(kept[at].inst.op)
                if at == start + size and len(offsets) > 1 and self._merge([kept[o] for o in offsets], store):
                    for o in offsets:
                        del kept[o]

    def _merge(self, members: list[_Store], store: Op) -> bool:
        """Make one store of several in the order of their addresses, unless it takes as many moves as it saves."""
        last = max(members, key=lambda m: m.place)
        if last.place - min(m.place for m in members) > self.fn.knobs.vectorization_distance:
            return False
        words = [w for m in members for w in m.words]
        data = self._whole(words)
        if data == K_NONE:
            own = {w for w in words if is_vreg(w) and not (has_lane(w) and self.fn.width(reg(K_R, vreg(w))) > 2)}
            if len(words) - len(own) >= len(members) - 1:
                return False
            data = self.fn.new_vreg(K_R, len(words))
            self.packs[last.inst.uid] = self.fn.new_inst(OP_PACK, [data], words, loc=last.inst.loc)
        _note(self.fn, "stores", last.inst, [m.inst for m in members], len(words) * _WORD)
        self.gone.update(m.inst.uid for m in members if m is not last)
        last.inst.src = [*members[0].inst.src[:4], data]
        last.inst.op = store
        return True

    def _whole(self, words: list[Opnd]) -> Opnd:
        """The register whose words these are, or zero; NONE if they must be brought together."""
        if all(w == RZ for w in words):
            return RZ
        first = words[0]
        if not is_vreg(first):
            return K_NONE
        whole = reg(K_R, vreg(first))
        if self.fn.width(whole) != len(words) or words != [with_word_lane(whole, k) for k in range(len(words))]:
            return K_NONE
        return whole
