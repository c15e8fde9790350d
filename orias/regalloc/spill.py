"""Spill code: spilled values are in local memory (R), in R registers (UR, P, UP, B), or are rematerialised.

A spilled class has one *home* for each of its words.  A store follows every definition, and a reload into a new
register precedes every use; copies inside a class are removed.  Constants, constant-bank reads and S2R of fixed
special registers are rematerialised at each use (``docs/facts/register-allocation.md``, "Spilling").
"""

from typing import Final, final

from orias.isa.op import F_CALL, F_CONSTMEM, F_SIDE, F_SPECIAL, F_TIED, Op
from orias.isa.operand import (
    FIRST_VREG,
    INV,
    K_B,
    K_CONST,
    K_IMM,
    K_NONE,
    K_P,
    K_R,
    K_SYM,
    K_UP,
    K_UR,
    K_WORD,
    KIND_MASK,
    PAYLOAD_SHIFT,
    PT,
    RZ,
    UPT,
    URZ,
    Opnd,
    flags_of,
    has_flags,
    imm,
    imm_value,
    in_file,
    is_bare,
    is_const,
    is_vreg,
    kind_of,
    lane_words,
    modifiers_of,
    pair_lane,
    r,
    vreg,
    with_lane,
    with_word_lane,
    without_flags,
    without_modifiers,
    word_lane,
    word_text,
)
from orias.isa.roles import (
    CONSTANT_WORDS,
    LOAD_CONSTANT,
    LOAD_LOCAL,
    LOCAL_LOADS,
    LOCAL_STORES,
    NOT_EQUAL,
    NOT_EQUAL_UNIFORM,
    SELECT,
    STORE_LOCAL,
)
from orias.ori.decisions import REMATERIALISED, SPILLED, Decision
from orias.ori.ir import OP_COPY, OP_PACK, Block, Func, Inst
from orias.regalloc.coalesce import Classes, Cls, part_words
from orias.regalloc.recompute import sources
from orias.regalloc.ssa_out import OP_PCOPY
from orias.target import features
from orias.target.fixed_registers import FIXED_SPECIALS


@final
class SpillState:
    """Cumulative results of spilling in a function."""

    __slots__ = ("made", "shared", "size", "stored", "temps", "uids")

    def __init__(self) -> None:
        self.stored: dict[int, list[tuple[int, int, int]]] = {}
        """Uid of a store to the spill area -> (virtual register, word of it, address relative to R1) of each word."""
        self.size: int = 0
        """Bytes of the spill area."""
        self.temps: set[int] = set()
        """Virtual registers that live only between a reference and its load or store."""
        self.shared: set[int] = set()
        """Virtual registers that several references share after one load; if spilled again, they are no longer shared."""
        self.made: set[int] = set()
        """Uids of all inserted instructions."""
        self.uids: set[int] = set()
        """Uids of spill loads and stores."""

    def copy(self) -> "SpillState":
        """A state with the same contents."""
        out = SpillState()
        out.take(self)
        return out

    def take(self, other: "SpillState") -> None:
        """Become a copy of another state."""
        self.stored = dict(other.stored)
        self.size = other.size
        self.temps, self.shared = set(other.temps), set(other.shared)
        self.made, self.uids = set(other.made), set(other.uids)


@final
class Held:
    """A register with words of a home: the point of its last use (or the start of the block), and whether it was loaded.

    ``spans``: half-open ranges of the points passed since then in earlier blocks.
    """

    __slots__ = ("at", "loaded", "register", "spans")

    def __init__(self, register: Opnd, at: int, loaded: bool, spans: tuple[tuple[int, int], ...] = ()) -> None:
        self.register: Final[Opnd] = register
        self.at: Final[int] = at
        self.loaded: Final[bool] = loaded
        self.spans: Final[tuple[tuple[int, int], ...]] = spans


@final
class Home:
    """Home of a spilled class: rematerialised by `remat`, in `regs` by place, or in the spill area at `offset` + 4 * place."""

    __slots__ = ("cls", "offset", "regs", "remat", "share")

    def __init__(self, cls: Cls) -> None:
        self.cls: Final[Cls] = cls
        self.remat: Inst | None = None
        self.regs: dict[int, Opnd] = {}
        self.offset: int = 0
        self.share: bool = True


_Words = tuple[Home, int, int]
"""Words of a home: (home, first place, number of words)."""


def rematerialisable(classes: Classes, state: SpillState) -> dict[Cls, Inst]:
    """Classes of a single register with a single definition that can be rematerialised anywhere; includes spill loads."""
    counts: dict[int, int] = {}
    maker: dict[int, Inst] = {}
    for inst in classes.rg.insts:
        if inst is None:
            continue
        for o in inst.dst:
            if o >= FIRST_VREG:
                v = o >> PAYLOAD_SHIFT
                counts[v] = counts.get(v, 0) + 1
                if len(inst.dst) == 1 and inst.guard == PT and (_remakes(inst) or inst.uid in state.uids):
                    maker[v] = inst
    out: dict[Cls, Inst] = {}
    for v, inst in maker.items():
        c = classes.cls(v)
        if counts[v] == 1 and len(c.members) == 1:
            # A copy of the instruction, because the definition may be removed while its uses are still being rewritten.
            out[c] = Inst(inst.op, list(inst.dst), list(inst.src))
    return out


def across_calls(classes: Classes, makers: dict[Cls, Inst]) -> list[Cls]:
    """Constants that are live across a call: like ptxas, the code reads them again after the call.

    Source: ``docs/facts/register-allocation.md``, "Parameters across calls" (sm_90 and later; an own choice for earlier
    targets).  `makers`: what :func:`rematerialisable` found.
    """
    rg = classes.rg
    points = [p for p, _ in rg.clobbers]
    if not points:
        return []
    changing = [p for p, inst in rg.clobbers if rg.fn.changes_uniform(inst)]
    out: list[Cls] = []
    for c, maker in makers.items():
        if maker.op.flags & F_SPECIAL:
            continue
        lost = changing if c.file == K_UR else points
        if any(s <= p < e for segs in c.words.values() for s, e, _ in segs for p in lost):
            out.append(c)
    return out


def _remakes(inst: Inst) -> bool:
    s = inst.src[0] if inst.src else K_NONE
    kind = kind_of(s)
    if inst.op is OP_COPY:
        return kind_of(inst.dst[0]) in (K_R, K_UR) and kind in (K_IMM, K_CONST, K_SYM)
    if inst.op in CONSTANT_WORDS:
        return kind == K_CONST and len(inst.src) == 2 and inst.src[1] in (RZ, URZ)
    if inst.op.flags & (F_SPECIAL | F_SIDE) == F_SPECIAL:
        return kind == K_WORD and word_text(s).startswith(FIXED_SPECIALS)
    return False


def spill(classes: Classes, victims: list[Cls], state: SpillState, room: list[int], makers: dict[Cls, Inst]) -> None:
    """Rewrite the function so that the classes in `victims` need registers only at their references.

    `room`: number of R registers that are free at each point without the victims (empty: unknown).  Where enough are
    free all the way between two references, they share one load.  `makers`: what :func:`rematerialisable` found.
    """
    lost = [c for c in victims if c not in makers]
    while lost:
        # What is computed from a value in memory would have to load it.
        gone = set(lost)
        lost = [c for c in victims if c in makers and any(classes.cls(v) in gone for v in sources(makers[c]))]
        for c in lost:
            del makers[c]
    # What others are computed from stays for another round, which rematerialises it, too.
    kept = {classes.cls(v) for c in victims if c in makers for v in sources(makers[c])}
    _Spiller(classes, [c for c in victims if c not in kept], state, room, makers).run()
    _sweep(classes.rg.fn, state)


def _sweep(fn: Func, state: SpillState) -> None:
    """Remove spill code that a later round made useless: stores that nothing loads, loads and packs that nothing reads."""
    while True:
        loaded: set[int] = set()
        read: set[int] = set()
        for b in fn.blocks:
            for inst in b.insts:
                for o in inst.src:
                    if o >= FIRST_VREG and o & KIND_MASK <= K_B:
                        read.add(o >> PAYLOAD_SHIFT)
                if inst.guard >= FIRST_VREG:
                    read.add(inst.guard >> PAYLOAD_SHIFT)
                if is_vreg(inst.old):
                    read.add(vreg(inst.old))
                if inst.uid in state.uids and inst.op in LOCAL_LOADS:
                    loaded.update(_spill_words(inst))
        swept = False
        for b in fn.blocks:
            kept = [i for i in b.insts if not _useless(i, state, loaded, read)]
            if len(kept) != len(b.insts):
                b.insts = kept
                swept = True
        if not swept:
            return


def _spill_words(inst: Inst) -> range:
    """Addresses, relative to R1, of the words that a spill load or store accesses."""
    offset = imm_value(inst.src[3])
    return range(offset, offset + (8 if inst.op.mods else 4), 4)


def _useless(inst: Inst, state: SpillState, loaded: set[int], read: set[int]) -> bool:
    if inst.uid not in state.made:
        return False
    if inst.op in LOCAL_STORES:
        return inst.uid in state.uids and not any(w in loaded for w in _spill_words(inst))
    if inst.op is OP_PACK or inst.op is OP_COPY or inst.op in LOCAL_LOADS:
        return is_vreg(inst.dst[0]) and vreg(inst.dst[0]) not in read
    return False


def spill_decision(classes: Classes, c: Cls, remade: bool, uids: set[int]) -> Decision:
    """What is said of a class that is kept outside its registers; `uids`: loads and stores of earlier rounds."""
    members = {v for v, _ in c.members}
    makers = [i for i in classes.rg.insts if i is not None and any(is_vreg(o) and vreg(o) in members for o in i.dst)]
    real = [i for i in makers if i.op is not OP_COPY and i.op is not OP_PCOPY] or makers
    line = next((i.loc for i in real if i.loc), 0)
    what = f"the result of {real[0].op.name}" if real else "a value"
    numbers = {"words": len(c.words), "members": len(members)}
    if remade and not any(i.uid in uids for i in makers):
        return Decision(REMATERIALISED, line, f"{what} is computed before each use: registers are short", numbers)
    where = "local memory" if c.file == K_R else "vector registers"
    return Decision(SPILLED, line, f"{what} is kept in {where}: registers are short", numbers)


@final
class _Spiller:
    __slots__ = ("classes", "ends", "fn", "gone", "homes", "out", "paid", "parts", "point", "recent", "room", "state")

    def __init__(
        self, classes: Classes, victims: list[Cls], state: SpillState, room: list[int], makers: dict[Cls, Inst]
    ) -> None:
        self.classes: Final[Classes] = classes
        self.fn: Final[Func] = classes.rg.fn
        self.state: Final[SpillState] = state
        self.out: list[Inst] = []
        self.room: list[int] = room
        self.point: int = 0
        """Point of the instruction that is being rewritten."""
        self.recent: dict[_Words, Held] = {}
        """Registers that still hold words of homes at this point."""
        self.parts: dict[Home, set[tuple[int, int]]] = {}
        """The places and counts of words of each home of which a register is or was known."""
        self.ends: dict[int, dict[_Words, Held]] = {}
        """The same at the end of each block, by block id."""
        self.paid: set[tuple[Opnd, tuple[int, int]]] = set()
        """(register, span) pairs that are already subtracted from ``room``."""
        self.homes: dict[Cls, Home] = {}
        self.gone: Final[set[int]] = {v for c in victims for v, _ in c.members}
        """The virtual registers that are spilled."""
        for c in victims:
            h = Home(c)
            h.share = all(v not in state.shared and v not in state.temps for v, _ in c.members)
            self.homes[c] = h
            h.remat = makers.get(c)
            if self.fn.decisions is not None:
                self.fn.decisions.append(spill_decision(classes, c, h.remat is not None, state.uids))
            if h.remat is not None:
                continue
            if c.file == K_R:
                self._slot(h)
            else:
                for place in c.words:
                    h.regs[place] = self.fn.new_vreg(K_R)

    def _slot(self, h: Home) -> None:
        """Allot a slot in the spill area; words at even places of aligned classes get addresses that are multiples of 8."""
        lo, hi = h.cls.span()
        fixed = self.fn.frame_fixed
        offset = ((fixed + self.state.size + 3) & -4) - 4 * lo
        if h.cls.mod > 1 and (offset // 4 - h.cls.phase) % 2:
            offset += 4
        h.offset = offset
        self.state.size = offset + 4 * hi - fixed

    def home(self, o: Opnd) -> Home | None:
        """The home of an operand's register if it is spilled."""
        if is_vreg(o):
            v = vreg(o)
            # Registers created by this pass are not in the table of classes.
            c = self.classes.of[v] if v < len(self.classes.of) else None
            if c is not None:
                return self.homes.get(c)
        return None

    def run(self) -> None:
        for b in self.classes.rg.order:
            self.out = []
            self.point = self.classes.rg.block_start[b.id]
            self.recent = self._inherited(b) if self.room else {}
            for inst in b.insts:
                self.point += 1
                if inst.op.flags & F_CALL:
                    self._generic(inst)
                    # The call may overwrite these registers: reload after it.
                    self.recent = {}
                elif not self._touched(inst):
                    self.out.append(inst)
                elif inst.op is OP_PCOPY or inst.op is OP_COPY:
                    self._copies(inst)
                elif inst.op is OP_PACK:
                    self._pack(inst)
                else:
                    self._generic(inst)
            b.insts = self.out
            self._end(b)

    def _end(self, b: Block) -> None:
        """Record the registers that hold words at the end of a block."""
        end = self.point + 1
        self.ends[b.id] = {
            words: Held(x.register, end, True, (*x.spans, (x.at, end)))
            for words, x in self.recent.items()
            if x.loaded and len(x.spans) < self.fn.knobs.reg_alloc_share_spans
        }

    def _inherited(self, b: Block) -> dict[_Words, Held]:
        """Registers that hold the same words on all edges into a block; none if a predecessor is not rewritten yet."""
        ends = [self.ends.get(p.id) for p in b.preds]
        first = ends[0] if ends else None
        if first is None or None in ends:
            return {}
        out: dict[_Words, Held] = {}
        for words, x in first.items():
            spans = x.spans
            for other in ends[1:]:
                y = other.get(words) if other is not None else None
                if y is None or y.register != x.register:
                    break
                spans = (*spans, *(span for span in y.spans if span not in spans))
            else:
                if len(spans) <= self.fn.knobs.reg_alloc_share_spans:
                    out[words] = Held(x.register, self.point, True, spans)
        return out

    def _touched(self, inst: Inst) -> bool:
        """True if an instruction has a spilled register as result, source or guard."""
        # Operand tests are inlined here: calls would cost plain Python more than the work between them.
        gone = self.gone
        for o in inst.dst:
            if o >= FIRST_VREG and o >> PAYLOAD_SHIFT in gone:
                return True
        for o in inst.src:
            if o >= FIRST_VREG and o & KIND_MASK <= K_B and o >> PAYLOAD_SHIFT in gone:
                return True
        return inst.guard >= FIRST_VREG and inst.guard >> PAYLOAD_SHIFT in gone

    # --- references --------------------------------------------------------------------------------------------

    def _new(self, o: Op, dst: list[Opnd], src: list[Opnd], like: Inst) -> Inst:
        inst = self.fn.new_inst(o, dst, src, loc=like.loc)
        self.state.made.add(inst.uid)
        self.out.append(inst)
        return inst

    def _temp(self, file: int, width: int = 1) -> Opnd:
        t = self.fn.new_vreg(file, width)
        self.state.temps.add(vreg(t))
        return t

    def _range(self, o: Opnd) -> tuple[int, int]:
        """First place and number of words of an operand in its class."""
        v = vreg(o)
        first, count = lane_words(o, self.fn.vwidth[v])
        return self.classes.place[v] + first, count

    def _reload(self, o: Opnd, h: Home, inst: Inst) -> Opnd:
        """A register with the value of a spilled operand, new or shared; the operand's flags and suffix are kept."""
        place, count = self._range(o)
        key = (h, place, count)
        known = self.recent.get(key)
        loaded = True
        if known is not None and self._sharable(known, count, kind_of(o)):
            t = known.register
            loaded = known.loaded
            v = vreg(t)
            if v in self.state.temps:
                self.state.temps.discard(v)
                self.state.shared.add(v)
        else:
            t = self._load(h, kind_of(o), place, count, inst)
        if h.share:
            self._hold(key, t, loaded)
        return t | modifiers_of(o)

    def _sharable(self, x: Held, count: int, file: int) -> bool:
        """True if a register may be kept up to here; subtracts it from `room` if so.

        Distant references share only loaded values, because these can be loaded again if the register is needed.
        """
        near = self.point - x.at <= self.fn.knobs.reg_alloc_share_distance and not x.spans
        if file != K_R or not self.room or not (near or x.loaded):
            return near
        spans = [span for span in x.spans if (x.register, span) not in self.paid]
        here = (x.at, self.point)
        if not near and any(min(self.room[s:e], default=count) < count for s, e in (*spans, here)):
            return False
        self.paid.update((x.register, span) for span in spans)
        for s, e in (*spans, here):
            for p in range(s, e):
                self.room[p] -= count
        return True

    def _changed(self, h: Home, place: int, count: int, t: Opnd) -> None:
        """The words of a home get a new value, which register `t` holds (NONE: no register does)."""
        for first, size in self.parts.get(h, ()):
            if first < place + count and place < first + size:
                self.recent.pop((h, first, size), None)
        if h.share and t != K_NONE:
            self._hold((h, place, count), t, False)

    def _hold(self, words: _Words, t: Opnd, loaded: bool) -> None:
        """From here on register `t` holds words of a home."""
        self.recent[words] = Held(t, self.point, loaded)
        self.parts.setdefault(words[0], set()).add(words[1:])

    def _load(self, h: Home, file: int, place: int, count: int, inst: Inst) -> Opnd:
        if h.remat is not None:
            return self._remake(h, h.remat, place, count, inst)
        if file == K_R:
            return self._load_words(h, place, count, inst)
        t = self._temp(file, count)
        if file == K_UR and count > 1:
            self._new(OP_PACK, [t], [h.regs[place + k] for k in range(count)], inst)
        elif file in (K_UR, K_B):
            self._new(OP_COPY, [t], [h.regs[place]], inst)
        elif file == K_P:
            self._new(NOT_EQUAL, [t, PT], [h.regs[place], RZ, PT], inst)
        else:
            u = self._temp(K_UR)
            self._new(OP_COPY, [u], [h.regs[place]], inst)
            self._new(NOT_EQUAL_UNIFORM, [t, UPT], [u, URZ, UPT], inst)
        return t

    def _load_words(self, h: Home, place: int, count: int, inst: Inst) -> Opnd:
        offset = h.offset + 4 * place
        if count == 1 or (count == 2 and offset % 8 == 0):
            t = self._temp(K_R, count)
            self.state.uids.add(self._new(LOAD_LOCAL[count], [t], [K_NONE, r(1), URZ, imm(offset)], inst).uid)
            return t
        parts: list[Opnd] = []
        k = 0
        while k < count:
            n = 2 if (offset + 4 * k) % 8 == 0 and k + 2 <= count else 1
            parts.append(self._load_words(h, place + k, n, inst))
            k += n
        t = self._temp(K_R, count)
        self._new(OP_PACK, [t], parts, inst)
        return t

    def _remake(self, h: Home, maker: Inst, place: int, count: int, inst: Inst) -> Opnd:
        t = self._temp(h.cls.file, count)
        s = maker.src[0]
        width = self.fn.vwidth[vreg(maker.dst[0])]
        first = place - self.classes.place[vreg(maker.dst[0])]
        if maker.op in LOCAL_LOADS:
            offset = imm(imm_value(maker.src[3]) + 4 * first)
            load = LOAD_LOCAL[2 if count == 2 else 1]
            self.state.uids.add(self._new(load, [t], [K_NONE, r(1), URZ, offset], inst).uid)
            return t
        if maker.op is OP_COPY or maker.op.flags & F_CONSTMEM:
            if is_const(s) and not self.fn.target.has(features.CONSTANT_OPERANDS) and h.cls.file == K_R:
                self._new(LOAD_CONSTANT[count], [t], [with_word_lane(s, first), RZ], inst)
            elif count == width or is_const(s):
                self._new(OP_COPY, [t], [with_word_lane(s, first) if is_const(s) else s], inst)
            elif count == 1:
                self._new(OP_COPY, [t], [with_word_lane(s, first)], inst)
            else:
                self._new(OP_PACK, [t], [with_word_lane(s, first + k) for k in range(count)], inst)
        elif count == width:
            self._new(maker.op, [t, *maker.dst[1:]], list(maker.src), inst)
        else:
            whole = self._temp(h.cls.file, width)
            self._new(maker.op, [whole, *maker.dst[1:]], list(maker.src), inst)
            part = pair_lane(first // 2) if count == 2 else word_lane(first)
            self._new(OP_COPY, [t], [with_lane(whole, part)], inst)
        return t

    def _store(self, o: Opnd, t: Opnd, h: Home, inst: Inst) -> None:
        """Store the value in `t` in its home; `o` is the spilled operand."""
        place, count = self._range(o)
        file = kind_of(o)
        plain = is_bare(t) and vreg(t) in self.state.temps
        self._changed(h, place, count, t if plain else K_NONE)
        if file == K_R:
            k = 0
            while k < count:
                offset = h.offset + 4 * (place + k)
                n = 2 if offset % 8 == 0 and k + 2 <= count else 1
                self._store_memory(offset, _part(t, k, n, count), n, inst, o, place + k)
                k += n
        elif file in (K_UR, K_B):
            for k in range(count):
                self._new(OP_COPY, [h.regs[place + k]], [_part(t, k, 1, count)], inst)
        else:
            if file == K_UP:
                p = self._temp(K_P)
                self._new(OP_COPY, [p], [t], inst)
                t = p
            self._new(SELECT, [h.regs[place]], [RZ, imm(1), t ^ INV], inst)

    def _store_memory(self, offset: int, value: Opnd, words: int, inst: Inst, o: Opnd, place: int) -> None:
        """Store words of the spilled operand `o`, from place `place` of its class on."""
        src = [K_NONE, r(1), URZ, imm(offset), value]
        uid = self._new(STORE_LOCAL[words], [], src, inst).uid
        self.state.uids.add(uid)
        if self.fn.names:
            v = vreg(o)
            word = place - self.classes.place[v]
            self.state.stored[uid] = [(v, word + k, offset + 4 * k) for k in range(words)]

    # --- instructions ------------------------------------------------------------------------------------------

    def _generic(self, inst: Inst) -> None:
        """Reload what the instruction reads, rename what it writes, and store that after it."""
        stores = self._uses(inst)
        made_again = False
        for k, d in enumerate(inst.dst):
            h = self.home(d)
            if h is None:
                continue
            if h.remat is not None:
                made_again = True
                continue
            if inst.old != K_NONE:
                # The old value has the same class and place.  The instruction overwrites its register: it is not
                # shared.
                place, count = self._range(d)
                t = self._load(h, kind_of(d), place, count, inst)
                inst.old = t
            else:
                t = self._temp(kind_of(d), self.fn.vwidth[vreg(d)])
            inst.dst[k] = t
            stores.append((d, t, h))
        if made_again:
            _ghost(inst)
        self.out.append(inst)
        # If a guard is false and there is no old value, an undefined value is stored: the register was undefined too.
        for d, t, h in stores:
            self._store(d, t, h, inst)

    def _uses(self, inst: Inst) -> list[tuple[Opnd, Opnd, Home]]:
        """Reload spilled sources; returns those that the instruction changes (BREAK) and must be stored again."""
        fresh: dict[Opnd, Opnd] = {}
        writes_barrier = inst.op.flags & F_TIED != 0
        stores: list[tuple[Opnd, Opnd, Home]] = []
        for k, o in enumerate(inst.src):
            h = self.home(o)
            if h is None:
                continue
            key = without_modifiers(o)
            t = fresh.get(key, 0)
            if not t:
                t = self._reload(key, h, inst)
                fresh[key] = t
                if writes_barrier and in_file(o, K_B):
                    stores.append((o, t, h))
            inst.src[k] = t | modifiers_of(o)
        h = self.home(inst.guard)
        if h is not None:
            key = without_flags(inst.guard)
            t = fresh.get(key, 0) or self._reload(key, h, inst)
            inst.guard = t | flags_of(inst.guard)
        return stores

    def _copies(self, inst: Inst) -> None:
        if inst.guard != PT:
            self._generic(inst)
            return
        dst: list[Opnd] = []
        src: list[Opnd] = []
        read: set[Home] = set()
        for s in inst.src:
            h = self.home(s)
            if h is not None:
                read.add(h)
        for d, s in zip(inst.dst, inst.src, strict=True):
            hd = self.home(d)
            if hd is not None and hd.remat is not None:
                continue
            hs = self.home(s)
            if hd is not None and hd is hs and not has_flags(s) and self._range(d)[0] == self._range(s)[0]:
                continue
            if hd is not None and hd not in read:
                # No source of this parallel copy reads that home: it can be written before the copy.
                if hs is not None:
                    s = self._reload(s, hs, inst)
                self._store(d, self._in_register(d, s, inst), hd, inst)
                continue
            dst.append(d)
            src.append(s)
        inst.dst = dst
        inst.src = src
        if len(dst) != 1:
            inst.op = OP_PCOPY
        self._generic(inst)

    def _in_register(self, d: Opnd, s: Opnd, inst: Inst) -> Opnd:
        """`s` as an operand that can be stored for `d`."""
        if kind_of(s) == kind_of(d) and not in_file(s, K_R):
            return s
        if is_vreg(s) and in_file(s, K_R) and in_file(d, K_R):
            return s
        t = self._temp(kind_of(d), self.fn.vwidth[vreg(d)])
        self._new(OP_COPY, [t], [s], inst)
        return t

    def _pack(self, inst: Inst) -> None:
        d = inst.dst[0]
        h = self.home(d)
        if h is None or h.remat is not None or inst.guard != PT or not in_file(d, K_R):
            self._generic(inst)
            return
        at = self._range(d)[0]
        plan: list[tuple[int, int, Opnd]] = []
        for s in inst.src:
            count = part_words(self.fn.vwidth, s)
            if self.home(s) is h:
                if self._range(s)[0] != at:
                    self._generic(inst)
                    return
            else:
                plan.append((at, count, s))
            at += count
        for place, count, s in plan:
            self._changed(h, place, count, K_NONE)
            hs = self.home(s)
            if hs is not None:
                s = self._reload(s, hs, inst)
            elif not (is_vreg(s) and in_file(s, K_R)):
                t = self._temp(K_R, count)
                self._new(OP_COPY, [t], [s], inst)
                s = t
            k = 0
            while k < count:
                offset = h.offset + 4 * (place + k)
                n = 2 if offset % 8 == 0 and k + 2 <= count else 1
                self._store_memory(offset, _part(s, k, n, count), n, inst, d, place + k)
                k += n
        _ghost(inst)
        self.out.append(inst)


def _part(t: Opnd, k: int, n: int, count: int) -> Opnd:
    """Words k to k + n - 1 of an operand of `count` words."""
    if n == count:
        return t
    first = lane_words(t, 0)[0]
    if n == 1:
        return with_lane(t, word_lane(first + k))
    return with_lane(t, pair_lane((first + k) // 2))


def _ghost(inst: Inst) -> None:
    """Replace a removed instruction by an empty copy, at which the checker reads where its value began."""
    inst.op = OP_PCOPY
    inst.dst = []
    inst.src = []
    inst.guard = PT
    inst.old = K_NONE
