"""GvnCse, before it: loads of what the thread itself has stored take the value, and stores that are overwritten unseen go.

Both look at weak accesses only and within a stretch without fences, barriers, calls and atomics, so that no other thread may see
the difference.  Accesses to one place have the same base register; of different bases any two may meet unless their spaces are
apart.  Values are carried into blocks with a single predecessor.
"""

from typing import Final

from orias.analysis.cfg import reverse_postorder
from orias.isa.op import F_CALL, F_FENCE, F_READ, F_SIDE, F_TERM, F_TEXTURE, F_WRITE, op
from orias.isa.operand import K_NONE, PT, RZ, SP, Opnd, imm, imm_signed, is_imm, is_physical, is_zero_reg
from orias.lower.frame.params import extract_selector
from orias.ori.ir import OP_COPY, OP_PACK, Block, Func, Inst
from orias.passes.access_size import data_words, is_load, is_signed, is_store, size_of

_PRMT: Final = op("PRMT")
_WORD: Final = 4
_WIDEST: Final = 16
_CLOSES: Final = F_WRITE | F_FENCE | F_CALL | F_TERM | F_TEXTURE

Place = tuple[int, Opnd, Opnd]
"""Space of an access, base register, uniform base register."""


class _Stored:
    """What a thread knows of memory: by place and byte offset, the store that wrote there last."""

    def __init__(self, limit: int) -> None:
        self.limit: Final[int] = limit
        """Stores that are remembered at a time; more are forgotten together, which bounds the time of compilation."""
        self.places: dict[Place, dict[int, Inst]] = {}
        self.count: int = 0

    def copy(self) -> "_Stored":
        """The same knowledge, apart."""
        out = _Stored(self.limit)
        out.places = {p: dict(found) for p, found in self.places.items()}
        out.count = self.count
        return out

    def clear(self) -> None:
        """Forget everything."""
        self.places.clear()
        self.count = 0

    def overwrite(self, place: Place, start: int, size: int) -> None:
        """Forget what a store may have changed."""
        for other in [p for p in self.places if p != place and p[0] & place[0]]:
            self.count -= len(self.places.pop(other))
        found = self.places.get(place)
        if found is not None:
            for at in range(start - _WIDEST + 1, start + size):
                old = found.get(at)
                if old is not None and at + size_of(old.op) > start:
                    del found[at]
                    self.count -= 1

    def add(self, place: Place, start: int, store: Inst) -> None:
        """Remember a store."""
        if self.count >= self.limit:
            self.clear()
        self.places.setdefault(place, {})[start] = store
        self.count += 1

    def writer(self, place: Place, start: int, size: int) -> Inst | None:
        """The store that wrote all of a range of at most one word, with whole words before it."""
        found = self.places.get(place)
        if found is not None:
            for at in range(start, start - _WIDEST, -1):
                store = found.get(at)
                if store is not None and at + size_of(store.op) >= start + size:
                    return store
        return None


def reuse_stored(fn: Func) -> bool:
    """Take loaded values from the stores before, and drop overwritten stores; True if anything changed."""
    if not any(is_store(i) for i in fn.insts()):
        return False
    changed = False
    ends: dict[int, _Stored] = {}
    for b in reverse_postorder(fn):
        known = _Stored(fn.knobs.stored_values_limit)
        if len(b.preds) == 1 and b.preds[0].id in ends:
            known = ends[b.preds[0].id].copy()
        changed |= _forward(fn, b, known)
        if known.places and any(len(s.preds) == 1 for s in b.succs):
            ends[b.id] = known
        changed |= _drop_overwritten(fn, b)
    return changed


def _place(fn: Func, inst: Inst) -> Place | None:
    """The place of a plain access, None if it has no constant offset or a base that may change."""
    base = inst.src[1]
    if not is_imm(inst.src[3]) or (is_physical(base) and not is_zero_reg(base) and (base != SP or fn.moves_stack)):
        return None
    return inst.op.space, base, inst.src[2]


def _forward(fn: Func, b: Block, known: _Stored) -> bool:
    changed = False
    kept: list[Inst] = []
    for inst in b.insts:
        place = _place(fn, inst) if is_load(inst) or is_store(inst) else None
        if place is None:
            if inst.op.flags & (F_WRITE | F_FENCE | F_CALL):
                known.clear()
        elif is_store(inst):
            start = imm_signed(inst.src[3])
            known.overwrite(place, start, size_of(inst.op))
            if data_words(fn, inst):
                known.add(place, start, inst)
        elif _take(fn, inst, place, known):
            changed = True
        kept.append(inst)
    b.insts = kept
    return changed


def _take(fn: Func, load: Inst, place: Place, known: _Stored) -> bool:
    """Turn a load of known words into a copy, a pack or an extraction of them."""
    start, size = imm_signed(load.src[3]), size_of(load.op)
    words: list[Opnd] = []
    byte = 0
    for at in range(start, start + size, _WORD):
        store = known.writer(place, at, min(size, _WORD))
        if store is None or store.guard not in (PT, load.guard):
            return False
        stored = size_of(store.op)
        distance = at - imm_signed(store.src[3])
        if size < _WORD:
            # A part of a stored part has its own place only; the upper bits of the operand are not those of memory.
            byte = distance % _WORD
            if byte + size > _WORD:
                return False
        elif stored < _WORD or distance % _WORD:
            return False
        words.append(data_words(fn, store)[distance // _WORD])
    if load.old == K_NONE:
        load.guard = PT
    elif size > _WORD:
        return False
    if size < _WORD:
        load.op, load.src = _PRMT, [words[0], imm(extract_selector(byte, 8 * size, is_signed(load.op))), RZ]
    elif size == _WORD:
        load.op, load.src = OP_COPY, words
    else:
        load.op, load.src = OP_PACK, words
    return True


def _drop_overwritten(fn: Func, b: Block) -> bool:
    """Drop the stores of a block that a later store of the block overwrites before anything may read them."""
    over: dict[Place, dict[int, Inst]] = {}
    gone: set[int] = set()
    for inst in reversed(b.insts):
        place = _place(fn, inst) if is_load(inst) or is_store(inst) else None
        if place is None:
            if inst.op.flags & (_CLOSES | F_READ | F_SIDE):
                over.clear()
            continue
        if is_load(inst):
            for other in [p for p in over if p != place and p[0] & place[0]]:
                del over[other]
            found = over.get(place, {})
            start, end = imm_signed(inst.src[3]), imm_signed(inst.src[3]) + size_of(inst.op)
            for at in range(start - _WIDEST + 1, end):
                if at in found and at + size_of(found[at].op) > start:
                    del found[at]
        elif _is_overwritten(inst, over.get(place, {})):
            gone.add(inst.uid)
        else:
            over.setdefault(place, {})[imm_signed(inst.src[3])] = inst
    if gone:
        b.insts = [i for i in b.insts if i.uid not in gone]
    return bool(gone)


def _is_overwritten(store: Inst, found: dict[int, Inst]) -> bool:
    """True if one of the later stores writes all that the store writes, whenever it does."""
    start, end = imm_signed(store.src[3]), imm_signed(store.src[3]) + size_of(store.op)
    for at in range(start, start - _WIDEST, -1):
        later = found.get(at)
        if later is not None and at + size_of(later.op) >= end and later.guard in (PT, store.guard):
            return True
    return False
