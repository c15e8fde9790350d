"""Spill code: values that find no register live in local memory (R), in R registers (UR, P, UP, B), or are made again.

A spilled class has one home for each of its words.  Every definition is followed by a store, every use preceded by a
reload into a fresh register; copies inside a class vanish.  Constants, constant-bank reads and S2R of fixed
special registers are made again at each use (register-allocation inventory, section 2b).
"""

from typing import Final, final

from orias.isa.op import F_CALL, Op, op
from orias.isa.operand import (
    FLAG_MASK,
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
    LANE_MASK,
    LANE_SHIFT,
    PAYLOAD_SHIFT,
    PT,
    RZ,
    SUFFIX_MASK,
    UPT,
    URZ,
    Opnd,
    imm,
    lane_range,
    r,
    with_word_lane,
    word_text,
)
from orias.ori.ir import OP_COPY, OP_PACK, Block, Func, Inst
from orias.regalloc.coalesce import Classes, Cls, part_words
from orias.regalloc.ranges import FIRST_OPND, IS_REG
from orias.regalloc.ssa_out import OP_PCOPY

OP_STL: Final[dict[int, Op]] = {1: op("STL"), 2: op("STL.64")}
OP_LDL: Final[dict[int, Op]] = {1: op("LDL"), 2: op("LDL.64")}
OP_SEL: Final[Op] = op("SEL")
OP_ISETP: Final[Op] = op("ISETP.NE.AND")
OP_UISETP: Final[Op] = op("UISETP.NE.AND")
_FIXED_SPECIAL: Final = ("SR_TID.", "SR_CTAID.", "SR_LANEID", "SR_NTID.", "SR_NCTAID.", "SR_CgaCtaId")
_SHARE_DISTANCE: Final = 12
"""A loaded value serves references this many instructions on (a guess: long enough for an expression)."""
_SPANS: Final = 24
"""Pieces of blocks that a register may be kept through between two references."""
_LDC_WORDS: Final = {"LDC": 1, "LDC.64": 2, "LDC.128": 4, "ULDC": 1, "ULDC.64": 2}


@final
class SpillState:
    """What spilling has done to a function so far."""

    __slots__ = ("made", "shared", "size", "temps", "uids")

    def __init__(self) -> None:
        self.size: int = 0
        """Bytes of the spill area."""
        self.temps: set[int] = set()
        """Virtual registers that live only between a reference and its load or store."""
        self.shared: set[int] = set()
        """Virtual registers that several references share after one load; spilled again they are shared no more."""
        self.made: set[int] = set()
        """Uids of all instructions put in."""
        self.uids: set[int] = set()
        """Uids of spill loads and stores."""


@final
class Held:
    """A register that holds words of a home: where it was last used (or the start of the block), and whether it was loaded.

    ``spans``: the points passed since then in earlier blocks, as half-open ranges.
    """

    __slots__ = ("at", "loaded", "register", "spans")

    def __init__(self, register: Opnd, at: int, loaded: bool, spans: tuple[tuple[int, int], ...] = ()) -> None:
        self.register: Final[Opnd] = register
        self.at: Final[int] = at
        self.loaded: Final[bool] = loaded
        self.spans: Final[tuple[tuple[int, int], ...]] = spans


@final
class Home:
    """Where a spilled class lives: made again by `remat`, in `regs` by place, or in the spill area at `offset` + 4 * place."""

    __slots__ = ("cls", "offset", "regs", "remat", "share")

    def __init__(self, cls: Cls) -> None:
        self.cls: Final[Cls] = cls
        self.remat: Inst | None = None
        self.regs: dict[int, Opnd] = {}
        self.offset: int = 0
        self.share: bool = True


_Words = tuple[Home, int, int]
"""Words of a home: first place and number."""


def rematerialisable(classes: Classes, state: SpillState) -> dict[Cls, Inst]:
    """Classes of a single register with a single definition that can be made again anywhere, spill loads among them."""
    counts: dict[int, int] = {}
    maker: dict[int, Inst] = {}
    for inst in classes.rg.insts:
        if inst is None:
            continue
        for o in inst.dst:
            if o >= FIRST_OPND:
                v = o >> PAYLOAD_SHIFT
                counts[v] = counts.get(v, 0) + 1
                if len(inst.dst) == 1 and inst.guard == PT and (_remakes(inst) or inst.uid in state.uids):
                    maker[v] = inst
    out: dict[Cls, Inst] = {}
    for v, inst in maker.items():
        c = classes.cls(v)
        if counts[v] == 1 and len(c.members) == 1:
            # A copy: the definition itself may vanish while its uses are still being rewritten.
            out[c] = Inst(inst.op, list(inst.dst), list(inst.src))
    return out


def across_calls(classes: Classes) -> list[Cls]:
    """Constants that live across a call: as ptxas does, they are read again behind it rather than kept.

    Source: register-allocation inventory, row RM2 (sm_90 and later; for earlier targets our choice).
    """
    points = [p for p, _ in classes.rg.clobbers]
    if not points:
        return []
    out: list[Cls] = []
    for c, maker in rematerialisable(classes, SpillState()).items():
        if maker.op.base == "S2R" or maker.op.base == "S2UR":
            continue
        if any(s <= p < e for segs in c.words.values() for s, e, _ in segs for p in points):
            out.append(c)
    return out


def _remakes(inst: Inst) -> bool:
    name = inst.op.name
    s = inst.src[0] if inst.src else K_NONE
    kind = s & KIND_MASK
    if inst.op is OP_COPY:
        return inst.dst[0] & KIND_MASK in (K_R, K_UR) and kind in (K_IMM, K_CONST, K_SYM)
    if name in _LDC_WORDS:
        return kind == K_CONST and len(inst.src) == 2 and inst.src[1] in (RZ, URZ)
    if name in ("S2R", "S2UR"):
        return kind == K_WORD and word_text(s).startswith(_FIXED_SPECIAL)
    return False


def spill(classes: Classes, victims: list[Cls], state: SpillState, room: list[int]) -> None:
    """Rewrite the function so that the classes in `victims` need registers only at their references.

    `room`: R registers that are free at each point without the victims (empty: unknown); where there is enough
    all the way, references share one load.
    """
    _Spiller(classes, victims, state, room).run()
    _sweep(classes.rg.fn, state)


def _sweep(fn: Func, state: SpillState) -> None:
    """Remove spill code that a later round made useless: stores nobody loads, loads and packs nobody reads."""
    while True:
        loaded: set[int] = set()
        read: set[int] = set()
        for inst in fn.insts():
            for o in inst.uses():
                if o >= FIRST_OPND and IS_REG[o & KIND_MASK]:
                    read.add(o >> PAYLOAD_SHIFT)
            if inst.uid in state.uids and inst.op.base == "LDL":
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
    """Addresses of the words a spill load or store touches, relative to R1."""
    offset = inst.src[3] >> PAYLOAD_SHIFT
    return range(offset, offset + (8 if inst.op.mods else 4), 4)


def _useless(inst: Inst, state: SpillState, loaded: set[int], read: set[int]) -> bool:
    if inst.uid not in state.made:
        return False
    if inst.op.base == "STL":
        return inst.uid in state.uids and not any(w in loaded for w in _spill_words(inst))
    if inst.op is OP_PACK or inst.op is OP_COPY or inst.op.base == "LDL":
        return inst.dst[0] >= FIRST_OPND and inst.dst[0] >> PAYLOAD_SHIFT not in read
    return False


@final
class _Spiller:
    __slots__ = ("classes", "ends", "fn", "homes", "out", "paid", "point", "recent", "room", "state")

    def __init__(self, classes: Classes, victims: list[Cls], state: SpillState, room: list[int]) -> None:
        self.classes: Final[Classes] = classes
        self.fn: Final[Func] = classes.rg.fn
        self.state: Final[SpillState] = state
        self.out: list[Inst] = []
        self.room: list[int] = room
        self.point: int = 0
        """Point of the instruction being rewritten."""
        self.recent: dict[_Words, Held] = {}
        """What registers still hold."""
        self.ends: dict[int, dict[_Words, Held]] = {}
        """What they hold at the end of each block, by its id."""
        self.paid: set[tuple[Opnd, tuple[int, int]]] = set()
        """(register, span) for which room was taken."""
        makers = rematerialisable(classes, state)
        self.homes: dict[Cls, Home] = {}
        for c in victims:
            h = Home(c)
            h.share = all(v not in state.shared and v not in state.temps for v, _ in c.members)
            self.homes[c] = h
            h.remat = makers.get(c)
            if h.remat is not None:
                continue
            if c.file == K_R:
                self._slot(h)
            else:
                for place in c.words:
                    h.regs[place] = self.fn.new_vreg(K_R)

    def _slot(self, h: Home) -> None:
        """Space in the spill area; even registers get addresses that are multiples of 8."""
        lo, hi = h.cls.span()
        fixed = self.fn.frame_fixed
        offset = ((fixed + self.state.size + 3) & -4) - 4 * lo
        if h.cls.mod > 1 and (offset // 4 - h.cls.phase) % 2:
            offset += 4
        h.offset = offset
        self.state.size = offset + 4 * hi - fixed

    def home(self, o: Opnd) -> Home | None:
        """The home of an operand's register if it is spilled."""
        if o >= FIRST_OPND and IS_REG[o & KIND_MASK]:
            v = o >> PAYLOAD_SHIFT
            # Registers made by this pass are not in the table of classes.
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
                    # What the call would destroy is better loaded again behind it.
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
        """Remember what registers hold at the end of a block."""
        end = self.point + 1
        self.ends[b.id] = {
            words: Held(x.register, end, True, (*x.spans, (x.at, end)))
            for words, x in self.recent.items()
            if x.loaded and len(x.spans) < _SPANS
        }

    def _inherited(self, b: Block) -> dict[_Words, Held]:
        """What registers hold at the start of a block on all ways to it; nothing where a way comes from further on."""
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
                if len(spans) <= _SPANS:
                    out[words] = Held(x.register, self.point, True, spans)
        return out

    def _touched(self, inst: Inst) -> bool:
        for o in inst.dst:
            if self.home(o) is not None:
                return True
        for o in inst.src:
            if self.home(o) is not None:
                return True
        return self.home(inst.guard) is not None

    # --- references --------------------------------------------------------------------------------------------

    def _new(self, o: Op, dst: list[Opnd], src: list[Opnd], like: Inst) -> Inst:
        inst = self.fn.new_inst(o, dst, src, loc=like.loc)
        self.state.made.add(inst.uid)
        self.out.append(inst)
        return inst

    def _temp(self, file: int, width: int = 1) -> Opnd:
        t = self.fn.new_vreg(file, width)
        self.state.temps.add(t >> PAYLOAD_SHIFT)
        return t

    def _range(self, o: Opnd) -> tuple[int, int]:
        """First place and number of words of an operand in its class."""
        v = o >> PAYLOAD_SHIFT
        first, count = lane_range((o >> LANE_SHIFT) & 15, self.fn.vwidth[v])
        return self.classes.place[v] + first, count

    def _reload(self, o: Opnd, h: Home, inst: Inst) -> Opnd:
        """A fresh register with the value of a spilled operand; the operand's flags and suffix are kept."""
        place, count = self._range(o)
        key = (h, place, count)
        known = self.recent.get(key)
        loaded = True
        if known is not None and self._sharable(known, count, o & KIND_MASK):
            t = known.register
            loaded = known.loaded
            v = t >> PAYLOAD_SHIFT
            if v in self.state.temps:
                self.state.temps.discard(v)
                self.state.shared.add(v)
        else:
            t = self._load(h, o & KIND_MASK, place, count, inst)
        if h.share:
            self.recent[key] = Held(t, self.point, loaded)
        return t | (o & (FLAG_MASK | SUFFIX_MASK))

    def _sharable(self, x: Held, count: int, file: int) -> bool:
        """True if a register may be kept up to here; takes it from the room if so.

        Far references share only what was loaded: should it be in the way, it can be loaded again.
        """
        near = self.point - x.at <= _SHARE_DISTANCE and not x.spans
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
        """The words of a home get a new value, which `t` holds (NONE: nobody)."""
        stale = [k for k in self.recent if k[0] is h and k[1] < place + count and place < k[1] + k[2]]
        for k in stale:
            del self.recent[k]
        if h.share and t != K_NONE:
            self.recent[h, place, count] = Held(t, self.point, False)

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
            self._new(OP_ISETP, [t, PT], [h.regs[place], RZ, PT], inst)
        else:
            u = self._temp(K_UR)
            self._new(OP_COPY, [u], [h.regs[place]], inst)
            self._new(OP_UISETP, [t, UPT], [u, URZ, UPT], inst)
        return t

    def _load_words(self, h: Home, place: int, count: int, inst: Inst) -> Opnd:
        offset = h.offset + 4 * place
        if count == 1 or (count == 2 and offset % 8 == 0):
            t = self._temp(K_R, count)
            self.state.uids.add(self._new(OP_LDL[count], [t], [K_NONE, r(1), URZ, imm(offset)], inst).uid)
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
        width = self.fn.vwidth[maker.dst[0] >> PAYLOAD_SHIFT]
        first = place - self.classes.place[maker.dst[0] >> PAYLOAD_SHIFT]
        if maker.op.base == "LDL":
            offset = maker.src[3] + (4 * first << PAYLOAD_SHIFT)
            load = OP_LDL[2 if count == 2 else 1]
            self.state.uids.add(self._new(load, [t], [K_NONE, r(1), URZ, offset], inst).uid)
            return t
        if maker.op is OP_COPY or maker.op.base in ("LDC", "ULDC"):
            if s & KIND_MASK == K_CONST and not self.fn.target.const_operands and h.cls.file == K_R:
                name = {1: "LDC", 2: "LDC.64", 4: "LDC.128"}[count]
                self._new(op(name), [t], [with_word_lane(s, first), RZ], inst)
            elif count == width or s & KIND_MASK == K_CONST:
                self._new(OP_COPY, [t], [with_word_lane(s, first) if s & KIND_MASK == K_CONST else s], inst)
            elif count == 1:
                self._new(OP_COPY, [t], [with_word_lane(s, first)], inst)
            else:
                self._new(OP_PACK, [t], [with_word_lane(s, first + k) for k in range(count)], inst)
        else:
            self._new(maker.op, [t], list(maker.src), inst)
        return t

    def _store(self, o: Opnd, t: Opnd, h: Home, inst: Inst) -> None:
        """Bring the value in `t` home; `o` is the spilled operand."""
        place, count = self._range(o)
        file = o & KIND_MASK
        plain = t & ~(FLAG_MASK | SUFFIX_MASK) == t and not t & LANE_MASK and t >> PAYLOAD_SHIFT in self.state.temps
        self._changed(h, place, count, t if plain else K_NONE)
        if file == K_R:
            k = 0
            while k < count:
                offset = h.offset + 4 * (place + k)
                n = 2 if offset % 8 == 0 and k + 2 <= count else 1
                self._store_memory(offset, _part(t, k, n, count), n, inst)
                k += n
        elif file in (K_UR, K_B):
            for k in range(count):
                self._new(OP_COPY, [h.regs[place + k]], [_part(t, k, 1, count)], inst)
        else:
            if file == K_UP:
                p = self._temp(K_P)
                self._new(OP_COPY, [p], [t], inst)
                t = p
            self._new(OP_SEL, [h.regs[place]], [RZ, imm(1), t ^ INV], inst)

    def _store_memory(self, offset: int, value: Opnd, words: int, inst: Inst) -> None:
        src = [K_NONE, r(1), URZ, imm(offset), value]
        self.state.uids.add(self._new(OP_STL[words], [], src, inst).uid)

    # --- instructions ------------------------------------------------------------------------------------------

    def _generic(self, inst: Inst) -> None:
        """Reload what the instruction reads, rename what it writes, store that behind it."""
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
                # The old value is of the same class and place.  Its register is overwritten: nobody shares it.
                place, count = self._range(d)
                t = self._load(h, d & KIND_MASK, place, count, inst)
                inst.old = t
            else:
                t = self._temp(d & KIND_MASK, self.fn.vwidth[d >> PAYLOAD_SHIFT])
            inst.dst[k] = t
            stores.append((d, t, h))
        if made_again:
            _ghost(inst)
        self.out.append(inst)
        # Where a guard does not hold and there is no old value, what is stored is as undefined as the register.
        for d, t, h in stores:
            self._store(d, t, h, inst)

    def _uses(self, inst: Inst) -> list[tuple[Opnd, Opnd, Home]]:
        """Reload spilled sources; returns those that the instruction changes (BREAK) and must be stored again."""
        fresh: dict[Opnd, Opnd] = {}
        writes_barrier = inst.op.base == "BREAK"
        stores: list[tuple[Opnd, Opnd, Home]] = []
        for k, o in enumerate(inst.src):
            h = self.home(o)
            if h is None:
                continue
            key = o & ~(FLAG_MASK | SUFFIX_MASK)
            t = fresh.get(key, 0)
            if not t:
                t = self._reload(key, h, inst)
                fresh[key] = t
                if writes_barrier and o & KIND_MASK == K_B:
                    stores.append((o, t, h))
            inst.src[k] = t | (o & (FLAG_MASK | SUFFIX_MASK))
        h = self.home(inst.guard)
        if h is not None:
            key = inst.guard & ~FLAG_MASK
            t = fresh.get(key, 0) or self._reload(key, h, inst)
            inst.guard = t | (inst.guard & FLAG_MASK)
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
            if hd is not None and hd is hs and not s & FLAG_MASK and self._range(d)[0] == self._range(s)[0]:
                continue
            if hd is not None and hd not in read:
                # Nothing in this parallel copy reads that home: it can be written ahead.
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
        """`s` in a form that can be stored for `d`."""
        if s & KIND_MASK == d & KIND_MASK and s & KIND_MASK != K_R:
            return s
        if s >= FIRST_OPND and s & KIND_MASK == K_R == d & KIND_MASK:
            return s
        t = self._temp(d & KIND_MASK, self.fn.vwidth[d >> PAYLOAD_SHIFT])
        self._new(OP_COPY, [t], [s], inst)
        return t

    def _pack(self, inst: Inst) -> None:
        d = inst.dst[0]
        h = self.home(d)
        if h is None or h.remat is not None or inst.guard != PT or d & KIND_MASK != K_R:
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
            elif not (s >= FIRST_OPND and s & KIND_MASK == K_R):
                t = self._temp(K_R, count)
                self._new(OP_COPY, [t], [s], inst)
                s = t
            k = 0
            while k < count:
                offset = h.offset + 4 * (place + k)
                n = 2 if offset % 8 == 0 and k + 2 <= count else 1
                self._store_memory(offset, _part(s, k, n, count), n, inst)
                k += n
        _ghost(inst)
        self.out.append(inst)


def _part(t: Opnd, k: int, n: int, count: int) -> Opnd:
    """Words k..k+n of an operand of `count` words."""
    if n == count:
        return t
    first = 0
    if t & LANE_MASK:
        first = lane_range((t >> LANE_SHIFT) & 15, 0)[0]
    base = t & ~LANE_MASK
    if n == 1:
        return base | (first + k + 1) << LANE_SHIFT
    return base | (9 + (first + k) // 2) << LANE_SHIFT


def _ghost(inst: Inst) -> None:
    """Keep the place of an instruction that is no longer needed: the checker wants to know where its value began."""
    inst.op = OP_PCOPY
    inst.dst = []
    inst.src = []
    inst.guard = PT
    inst.old = K_NONE
