"""Coalescing: virtual registers that should be one register, or parts of one, become a *class*.

A class consists of words at fixed distances.  Copies and ties put two registers at distance zero; ``pack`` puts a part
at its position in the wide register.  Two registers join a class if no word would have to hold two different values at
the same time.  Copies of a value are the same value: a part may therefore live longer than the register that it was
packed into.
"""

from bisect import bisect_left, bisect_right, insort
from typing import Final, final

from orias.diag import Unsupported
from orias.isa.gmma_forms import ACCUMULATOR_ALIGN, FIRST_REGISTER
from orias.isa.op import F_WGMMA
from orias.isa.operand import (
    FIRST_VIRTUAL,
    FIRST_VREG,
    K_NONE,
    PAYLOAD_SHIFT,
    PT,
    Opnd,
    has_modifiers,
    is_vreg,
    kind_of,
    lane_of,
    lane_range,
    lane_words,
    reg_id,
    vreg,
)
from orias.ori.ir import OP_COPY, OP_PACK, Inst
from orias.regalloc.accumulator_registers import first_results, neighbours, vectors
from orias.regalloc.ranges import Ranges, is_phys
from orias.regalloc.ssa_out import OP_PCOPY, result

Seg = tuple[int, int, int]
"""start, end, value"""

_ALIGN: Final[tuple[int, ...]] = (1, 1, 2, 4, 4, 8, 8, 8, 8)
_LONG_ALIGN: Final = 4
"""Alignment of vectors of more than eight words, of tensor memory: what ptxas 13.0.88 gives them (sm_100, sm_103)."""
_ANY_SPAN: Final = 256
_FAR: Final = 1 << 60
_TIE_WEIGHT: Final = 1 << 50


@final
class Move:
    """A copy: `count` words of register `dst` from word `dword` on equal those of register `src` from `sword` on."""

    __slots__ = ("count", "dst", "dword", "src", "sword", "weight")

    def __init__(self, dst: int, dword: int, src: int, sword: int, count: int, weight: int) -> None:
        self.dst: Final[int] = dst
        self.dword: Final[int] = dword
        self.src: Final[int] = src
        self.sword: Final[int] = sword
        self.count: Final[int] = count
        self.weight: Final[int] = weight


@final
class _Copying:
    """An instruction that copies registers, its moves, and the weight of each."""

    __slots__ = ("inst", "moves", "point", "weight")

    def __init__(self, point: int, inst: Inst, weight: int, moves: list[Move]) -> None:
        self.point: Final[int] = point
        self.inst: Final[Inst] = inst
        self.weight: Final[int] = weight
        self.moves: Final[list[Move]] = moves


@final
class Cls:
    """A class of virtual registers.

    ``words`` maps the place of a word (its offset in the class, may be negative) to its intervals.  The register chosen
    for place 0 must be ``phase`` modulo ``mod``.  ``members`` are (virtual register, its place).
    """

    __slots__ = ("crossed", "file", "least", "members", "mod", "phase", "pinned", "slot", "words")

    def __init__(self, file: int, mod: int) -> None:
        self.file: Final[int] = file
        self.mod: int = mod
        self.phase: int = 0
        self.least: int = 0
        """Lowest register that place 0 may have."""
        self.words: dict[int, list[Seg]] = {}
        self.members: list[tuple[int, int]] = []
        self.slot: int = -1
        """Physical register of place 0; -1 until it is chosen."""
        self.pinned: list[tuple[int, int]] = []
        """(preferred register of place 0, weight), from copies to and from physical registers."""
        self.crossed: list[tuple[Cls, int]] = []
        """(class, register of place 0 less that of the class's) with which words of the class are exchanged in place, in more moves."""

    def start(self) -> int:
        """First point where the class is live."""
        return min(s[0][0] for s in self.words.values() if s)

    def span(self) -> tuple[int, int]:
        """(lowest place, highest place + 1)."""
        return min(self.words), max(self.words) + 1


@final
class Classes:
    """The classes of a function; ``of[v]`` is a virtual register's class and ``place[v]`` its place in it."""

    __slots__ = ("copies", "defs", "heads", "listed", "of", "place", "rg", "value")

    def __init__(self, rg: Ranges, copying: list[_Copying]) -> None:
        self.rg: Final[Ranges] = rg
        n = len(rg.fn.vkind)
        self.of: list[Cls | None] = [None] * n
        self.place: list[int] = [0] * n
        self.value: Final[list[int]] = _values(rg, copying)
        self.copies: Final[dict[int, dict[int, int]]] = {}
        """For each word: point -> the word that it is a copy of from that point on."""
        self.defs: Final[dict[int, list[int]]] = {}
        """Ascending points at which the words in ``copies``, sources included, are written."""
        self.heads: Final[list[int]] = [p for p, inst in enumerate(rg.insts) if inst is None]
        """Ascending points of the heads of blocks."""
        self._find_copies(copying)
        self.listed: list[Cls] | None = None
        """Cached result of :meth:`all`, until classes are joined."""

    def cls(self, v: int) -> Cls:
        """The class of a virtual register; the first use creates it."""
        c = self.of[v]
        if c is None:
            fn = self.rg.fn
            width = fn.vwidth[v]
            c = Cls(fn.vkind[v], _ALIGN[width] if width < len(_ALIGN) else _LONG_ALIGN)
            base = self.rg.wbase[v]
            for k in range(width):
                flat = self.rg.segs[base + k]
                val = self.value[base + k]
                if base + k in self.copies:
                    segs: list[Seg] = []
                    for i in range(0, len(flat), 2):
                        self._valued(segs, base + k, flat[i], flat[i + 1])
                    c.words[k] = segs
                else:
                    c.words[k] = [(flat[i], flat[i + 1], val) for i in range(0, len(flat), 2)]
            c.members.append((v, 0))
            self.of[v] = c
        return c

    def _find_copies(self, copying: list[_Copying]) -> None:
        """Find copies into words with several definitions (:func:`_values` handles words with one definition)."""
        rg = self.rg
        wanted: set[int] = set()
        for x in copying:
            if x.inst.guard != PT or x.inst.op is OP_PACK:
                continue
            for m in x.moves:
                if rg.fn.vkind[m.dst] != rg.fn.vkind[m.src]:
                    continue
                for k in range(m.count):
                    d, s = rg.wbase[m.dst] + m.dword + k, rg.wbase[m.src] + m.sword + k
                    if self.value[d] != self.value[s]:
                        self.copies.setdefault(d, {})[x.point] = s
                        wanted.add(d)
                        wanted.add(s)
        if not wanted:
            return
        for point, inst in enumerate(rg.insts):
            if inst is not None:
                for o in inst.dst:
                    if o >= FIRST_VREG:
                        v = o >> PAYLOAD_SHIFT
                        for w in range(rg.wbase[v], rg.wbase[v + 1]):
                            if w in wanted:
                                self.defs.setdefault(w, []).append(point)

    def _valued(self, out: list[Seg], w: int, start: int, end: int) -> None:
        """Append an interval of a word.

        Until either of them changes, in its block, it has the value of the word that it is a copy of, and of the one that
        this is a copy of in turn.
        """
        rg = self.rg
        source = self.copies[w].get(start, -1)
        if source >= 0 and rg.insts[start] is not None:
            stop = start
            while stop < end and rg.insts[stop] is not None:
                stop += 1
            # A parallel copy may give the source another value at the same point.
            stop = min(stop, self._next_def(w, start + 1), self._next_def(source, start))
            if start < stop:
                origin, until = self._origin(source, start, stop)
                out.append((start, until, self.value[origin]))
                if until < stop:
                    out.append((until, stop, self.value[source]))
                start = stop
        if start < end:
            out.append((start, end, self.value[w]))

    def _next_def(self, w: int, point: int) -> int:
        """The first point from `point` on at which a word is written."""
        defs = self.defs.get(w, [])
        k = bisect_left(defs, point)
        return defs[k] if k < len(defs) else _FAR

    def _origin(self, w: int, point: int, stop: int) -> tuple[int, int]:
        """The word that word `w` is a copy of at `point`, through other copies in the block, and until when, at most until `stop`."""
        at = point
        while w in self.copies:
            defs = self.defs[w]
            k = bisect_left(defs, at) - 1
            source = self.copies[w].get(defs[k], -1) if k >= 0 else -1
            if source < 0 or bisect_right(self.heads, at) > bisect_right(self.heads, defs[k]):
                break
            until = min(stop, self._next_def(source, defs[k]))
            if until <= point:
                break
            w, at, stop = source, defs[k], until
        return w, stop

    def all(self) -> list[Cls]:
        """Every class that is live somewhere, once."""
        if self.listed is not None:
            return self.listed
        out: list[Cls] = []
        segs = self.rg.segs
        wbase = self.rg.wbase
        for v in range(FIRST_VIRTUAL, len(self.of)):
            if any(segs[wbase[v] : wbase[v + 1]]):
                c = self.cls(v)
                if c.members[0][0] == v:
                    out.append(c)
        self.listed = out
        return out

    def join(self, m: Move, limit: int) -> bool:
        """Try to coalesce the two registers of a move; True if they are.  `limit`: maximum words of a class."""
        fn = self.rg.fn
        if fn.vkind[m.dst] != fn.vkind[m.src]:
            return False
        a = self.cls(m.dst)
        b = self.cls(m.src)
        # Place p of b becomes place p + shift of a.
        shift = self.place[m.dst] + m.dword - (self.place[m.src] + m.sword)
        if a is b:
            return shift == 0
        if len(a.members) < len(b.members):
            a, b = b, a
            shift = -shift
        if not _fits(a, b, shift, limit):
            return False
        self._merge(a, b, shift)
        return True

    def _merge(self, a: Cls, b: Cls, shift: int) -> None:
        self.listed = None
        if b.mod > a.mod:
            a.mod = b.mod
            a.phase = (b.phase - shift) % b.mod
        if b.least:
            a.least = max(a.least, b.least - shift)
        for p, segs in b.words.items():
            mine = a.words.get(p + shift)
            a.words[p + shift] = segs if mine is None else _union(mine, segs)
        for v, p in b.members:
            a.members.append((v, p + shift))
            self.of[v] = a
            self.place[v] = p + shift
        b.words = {}
        b.members = []


def _fits(a: Cls, b: Cls, shift: int, limit: int) -> bool:
    if a.mod >= b.mod:
        if (a.phase + shift - b.phase) % b.mod:
            return False
    elif (b.phase - shift - a.phase) % a.mod:
        return False
    if len(a.words) > 1 or len(b.words) > 1:
        alo, ahi = a.span()
        blo, bhi = b.span()
        if max(ahi, bhi + shift) - min(alo, blo + shift) > max(limit, ahi - alo, bhi - blo):
            return False
    for p, segs in b.words.items():
        mine = a.words.get(p + shift)
        if mine is not None and _clash(mine, segs):
            return False
    return True


def _clash(x: list[Seg], y: list[Seg]) -> bool:
    """True if two different values overlap."""
    if len(x) < len(y):
        x, y = y, x
    n = len(x)
    for s, e, val in y:
        i = bisect_right(x, (s, _FAR, 0))
        if i > 0:
            p = x[i - 1]
            if p[1] > s and p[2] != val:
                return True
        while i < n:
            p = x[i]
            if p[0] >= e:
                break
            if p[2] != val:
                return True
            i += 1
    return False


def _union(x: list[Seg], y: list[Seg]) -> list[Seg]:
    """Both lists in one; overlapping intervals (of one value) merge."""
    if len(x) < len(y):
        x, y = y, x
    if len(y) <= 4 and len(x) > 16:
        for seg in y:
            s, e, val = seg
            i = bisect_right(x, (s, _FAR, 0))
            lo = i
            if i > 0 and x[i - 1][1] > s:
                lo = i - 1
                s = x[lo][0]
                e = max(e, x[lo][1])
            hi = i
            while hi < len(x) and x[hi][0] < e:
                e = max(e, x[hi][1])
                hi += 1
            if lo == hi:
                insort(x, seg)
            else:
                x[lo:hi] = [(s, e, val)]
        return x
    merged: list[Seg] = []
    for seg in sorted(x + y):
        if merged and merged[-1][1] > seg[0]:
            last = merged[-1]
            if seg[1] > last[1]:
                merged[-1] = (last[0], seg[1], last[2])
        else:
            merged.append(seg)
    return merged


def _values(rg: Ranges, copying: list[_Copying]) -> list[int]:
    """The value number of each word: its own, or that of the word it copies if both have a single definition."""
    fn = rg.fn
    total = rg.wbase[-1]
    value = list(range(total))
    defs = bytearray(len(fn.vkind))
    for b in rg.order:
        for inst in b.insts:
            for o in inst.dst:
                if o >= FIRST_VREG:
                    v = o >> PAYLOAD_SHIFT
                    if defs[v] < 2:
                        defs[v] += 1
    for x in copying:
        if x.inst.guard != PT:
            # If the guard is false, the result is not the source.
            continue
        for m in x.moves:
            if defs[m.dst] == 1 and defs[m.src] == 1 and fn.vkind[m.dst] == fn.vkind[m.src]:
                for k in range(m.count):
                    # In reverse postorder the value of the source is known, unless the copy is in a cycle.
                    value[rg.wbase[m.dst] + m.dword + k] = value[rg.wbase[m.src] + m.sword + k]
    return value


def _plain_copy(o: Opnd) -> bool:
    """True for a virtual register operand without flags or suffix: a source that a move does not change."""
    return is_vreg(o) and not has_modifiers(o)


def _copying(rg: Ranges) -> list[_Copying]:
    """Copies, parallel copies and packs, in the order of their points."""
    ties = first_results(rg.fn)
    bits = rg.fn.knobs.loop_weight_bits
    out: list[_Copying] = []
    for point, inst in enumerate(rg.insts):
        if inst is None:
            continue
        o = inst.op
        if o is not OP_COPY and o is not OP_PACK and o is not OP_PCOPY:
            continue
        weight = 4 << min(bits * rg.depth[point], 30)
        if o is OP_PACK:
            weight -= 1
        elif o is OP_PCOPY and inst.dst and inst.dst[0] in ties:
            weight = _TIE_WEIGHT
        out.append(_Copying(point, inst, weight, moves_of(rg, inst, weight)))
    return out


def moves_of(rg: Ranges, inst: Inst, weight: int) -> list[Move]:
    """The register-to-register moves of a copy, parallel copy or pack."""
    fn = rg.fn
    out: list[Move] = []
    if inst.op is OP_PACK:
        d = inst.dst[0]
        if not is_vreg(d):
            return out
        at = 0
        for s in inst.src:
            count = part_words(fn.vwidth, s)
            if _plain_copy(s):
                out.append(_move(fn.vwidth, vreg(d), at, s, count, weight))
            at += count
        return out
    for d, s in zip(inst.dst, inst.src, strict=True):
        if is_vreg(d) and _plain_copy(s):
            out.append(_move(fn.vwidth, vreg(d), 0, s, fn.vwidth[vreg(d)], weight))
    return out


def _move(vwidth: bytearray, d: int, at: int, s: Opnd, count: int, weight: int) -> Move:
    v = vreg(s)
    code = lane_of(s)
    first, _ = lane_range(code, vwidth[v])
    return Move(d, at, v, first, count, weight)


def part_words(vwidth: bytearray, s: Opnd) -> int:
    """Words of one part of a ``pack``: the width of a register (or of its lane); 1 for any other operand."""
    if is_vreg(s):
        code = lane_of(s)
        return lane_range(code, vwidth[vreg(s)])[1]
    return 1


def coalesce(rg: Ranges) -> Classes:
    """Build the classes: moves in the deepest loops are coalesced first, parallel copies (phis) and ties before packs."""
    copying = _copying(rg)
    classes = Classes(rg, copying)
    moves: list[Move] = []
    pins: list[tuple[int, int, int, int]] = []
    nth = 0
    for point, inst in enumerate(rg.insts):
        if inst is None:
            continue
        if inst.op.flags & F_WGMMA:
            _place_vectors(classes, inst)
        if inst.old != K_NONE and inst.old != result(inst):
            moves.append(_tie_move(rg, inst))
        if nth < len(copying) and copying[nth].point == point:
            moves.extend(copying[nth].moves)
            _pins(rg, inst, copying[nth].weight, pins)
            nth += 1
    moves.sort(key=_weight)
    for m in moves:
        classes.join(m, rg.fn.knobs.reg_alloc_coalesce_max_words)
    for v, place, reg, weight in pins:
        c = classes.cls(v)
        c.pinned.append((reg - (classes.place[v] + place), weight))
    for x in copying:
        if x.inst.op is OP_PACK and len(x.moves) > 1:
            _note_exchanges(classes, x.moves)
    return classes


def _note_exchanges(classes: Classes, moves: list[Move]) -> None:
    """Note with which registers the words of a pack change places among themselves, if they come from one class.

    Such a cycle takes a move more than other registers for the result.
    """
    d, s = classes.cls(moves[0].dst), classes.cls(moves[0].src)
    if d is s or d.file != s.file:
        return
    to: dict[int, int] = {}
    for m in moves:
        if classes.cls(m.src) is s:
            for k in range(m.count):
                to[classes.place[m.src] + m.sword + k] = classes.place[m.dst] + m.dword + k
    if len(to) < 2:
        return
    # The register of place 0 of the result less that of the source with which some word moves to the place of another, and so
    # on, until one takes the first place.
    for shift in sorted({b - to[a] for a in to for b in to if a != b}):
        if any(_in_cycle(to, shift, a) for a in to):
            d.crossed.append((s, shift))


def _in_cycle(to: dict[int, int], shift: int, first: int) -> bool:
    """True if the word at a place moves to other places, and at last to its own, when the result is `shift` registers on."""
    at = first
    for steps in range(len(to)):
        if at not in to:
            return False
        at = to[at] + shift
        if at == first:
            return steps > 0
    return False


def _place_vectors(classes: Classes, inst: Inst) -> None:
    """Keep the vectors of a warpgroup operation out of the lowest registers, and the parts of its result together."""
    for x in vectors(inst):
        c = classes.cls(vreg(x))
        c.least = max(c.least, FIRST_REGISTER - classes.place[vreg(x)])
    for d, k in neighbours(inst):
        first = vreg(inst.dst[0])
        classes.cls(first).mod = ACCUMULATOR_ALIGN
        if not classes.join(Move(vreg(d), 0, first, k, 1, _TIE_WEIGHT), _ANY_SPAN):
            raise Unsupported(f"results of {inst.op.name} cannot be neighbours", inst.loc)


def _tie_move(rg: Ranges, inst: Inst) -> Move:
    d = vreg(result(inst))
    vwidth = rg.fn.vwidth
    return _move(vwidth, d, 0, inst.old, vwidth[d], _TIE_WEIGHT)


def broken_ties(classes: Classes) -> list[Inst]:
    """Instructions whose result and old value did not get the same register and therefore need a copy before them."""
    out: list[Inst] = []
    for inst in classes.rg.insts:
        if inst is not None and inst.old != K_NONE and inst.old != result(inst):
            m = _tie_move(classes.rg, inst)
            c = classes.of[m.dst]
            same = c is not None and c is classes.of[m.src]
            if not same or classes.place[m.dst] != classes.place[m.src] + m.sword:
                out.append(inst)
    return out


def _weight(m: Move) -> int:
    return -m.weight


def _pins(rg: Ranges, inst: Inst, weight: int, pins: list[tuple[int, int, int, int]]) -> None:
    """Append preferences for physical registers: (virtual register, word, physical register, weight)."""
    if inst.op is OP_PACK:
        at = 0
        for s in inst.src:
            if is_phys(s) and is_vreg(inst.dst[0]) and kind_of(s) == kind_of(inst.dst[0]):
                pins.append((vreg(inst.dst[0]), at, reg_id(s), weight))
            at += part_words(rg.fn.vwidth, s)
        return
    for d, s in zip(inst.dst, inst.src, strict=True):
        if kind_of(d) != kind_of(s):
            continue
        if is_vreg(d) and is_phys(s):
            pins.append((vreg(d), 0, reg_id(s), weight))
        elif is_vreg(s) and is_phys(d):
            first = lane_words(s, 1)[0]
            pins.append((vreg(s), first, reg_id(d), weight))
