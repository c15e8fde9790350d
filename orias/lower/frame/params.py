"""Parameter variables of functions and calls: SSA words, or memory where their address is taken.

A ``.param`` variable of a ``.func`` body (its parameters, its results, the argument lists of calls) is an array of
32-bit words.  Each word is an SSA variable; ``ld.param``/``st.param`` at constant offsets read and write it.  A
variable whose address is taken is in the stack frame instead.
"""

from typing import Final, final

from orias.diag import Unsupported
from orias.isa.operand import K_NONE, RZ, URZ, Opnd, imm, is_zero_reg
from orias.lower.frame.emitter import Emitter
from orias.ptx.ast import TYPE_BITS, Var
from orias.target import abi

SIGNED: Final[frozenset[str]] = frozenset(("s8", "s16", "s32", "s64"))
_COPIED_TOGETHER: Final = 16
"""Words of a copy that are in registers together: an even number, for pairs; loads of some are on their way at once."""


@final
class Memory:
    """Words of local memory: a base address, a byte offset from it, and the base modulo 8 (-1: only a multiple of 4 is known)."""

    __slots__ = ("base", "offset", "phase")

    def __init__(self, base: Opnd, offset: int, phase: int) -> None:
        self.base: Final[Opnd] = base
        self.offset: Final[int] = offset
        self.phase: Final[int] = phase

    def later(self, count: int) -> "Memory":
        """The memory `count` bytes further."""
        return Memory(self.base, self.offset + count, self.phase)


def extract_selector(byte: int, bits: int, signed: bool) -> int:
    """PRMT selector that extends 8 or 16 bits from byte `byte` of the first source to 32 bits (the second source is RZ)."""
    if bits == 8:
        return 0x1110 * (8 | byte) | byte if signed else 0x7770 | byte
    top = byte + 1
    return 0x1100 * (8 | top) | top << 4 | byte if signed else 0x7700 | top << 4 | byte


def insert_selector(byte: int, bits: int) -> int:
    """PRMT selector that puts the low 8 or 16 bits of the second source into byte `byte` of the first."""
    sel = 0x3210
    for k in range(bits // 8):
        at = 4 * (byte + k)
        sel = sel & ~(15 << at) | (4 + k) << at
    return sel


def refuse_huge(*variables: Var) -> None:
    """Raises Unsupported for a parameter or result that is larger than the memory of a thread: its words are handled one by one."""
    for v in variables:
        if v.size > abi.LOCAL_MEMORY:
            raise Unsupported(f"'{v.name}' of {v.size} bytes does not fit into the local memory of a thread", v.line)


def prepare(ctx: Emitter, var: Var, in_memory: bool) -> None:
    """Create the words (or the frame slot) of a parameter variable."""
    if in_memory:
        ctx.state.frame_slot(var)
    elif var not in ctx.state.param_words:
        ctx.state.param_words[var] = {k: ctx.temp() for k in range(word_count(var))}


def word_count(var: Var) -> int:
    """Words of a variable."""
    return (var.size + 3) // 4


def frame_memory(ctx: Emitter, offset: int) -> Memory:
    """The frame from a byte offset on; where the frame's base moves, a multiple of 4 is all that is known of it."""
    return Memory(ctx.frame(offset), 0, offset % 8 if ctx.state.frame_base == K_NONE else -1)


def outgoing_memory(ctx: Emitter, offset: int) -> Memory:
    """The stack arguments for a callee from a byte offset on."""
    return Memory(ctx.outgoing(offset), 0, offset % 8)


def in_frame(ctx: Emitter, var: Var) -> Memory | None:
    """The memory of a parameter variable whose address is taken; None if its words are SSA variables."""
    offset = ctx.state.frame_offset.get(var)
    return None if offset is None else frame_memory(ctx, offset)


def read_memory(ctx: Emitter, memory: Memory, count: int) -> list[Opnd]:
    """Load `count` words, in pairs where their address is a multiple of 8."""
    base, at, phase = memory.base, memory.offset, memory.phase
    out: list[Opnd] = []
    while len(out) < count:
        here = at + 4 * len(out)
        if phase >= 0 and (phase + here) % 8 == 0 and len(out) + 1 < count:
            pair = ctx.b.r("LDL.64", K_NONE, base, URZ, imm(here), width=2)
            out += [ctx.word(pair, 0), ctx.word(pair, 1)]
        else:
            out.append(ctx.b.r("LDL", K_NONE, base, URZ, imm(here)))
    return out


def write_memory(ctx: Emitter, memory: Memory, words: list[Opnd]) -> None:
    """Store words, in pairs as :func:`read_memory`; undefined words are not stored."""
    base, at, phase = memory.base, memory.offset, memory.phase
    k = 0
    while k < len(words):
        here = at + 4 * k
        known = [not ctx.ssa.is_undef(w) for w in words[k : k + 2]]
        if phase >= 0 and (phase + here) % 8 == 0 and known == [True, True]:
            ctx.b.emit("STL.64", [], [K_NONE, base, URZ, imm(here), ctx.b.pack(words[k], words[k + 1])])
            k += 2
            continue
        if known[0]:
            ctx.b.emit("STL", [], [K_NONE, base, URZ, imm(here), words[k]])
        k += 1


def copy_memory(ctx: Emitter, source: Memory, target: Memory, count: int) -> None:
    """Copy words, a few at a time: all of a large variable would not fit into registers."""
    for k in range(0, count, _COPIED_TOGETHER):
        words = read_memory(ctx, source.later(4 * k), min(_COPIED_TOGETHER, count - k))
        write_memory(ctx, target.later(4 * k), words)


def get_words(ctx: Emitter, var: Var) -> list[Opnd]:
    """The variable's words."""
    offset = ctx.state.frame_offset.get(var)
    if offset is not None:
        base = ctx.frame(offset)
        return [ctx.b.r("LDL", K_NONE, base, URZ, imm(4 * k)) for k in range(word_count(var))]
    keys = ctx.state.param_words[var]
    return [ctx.get(keys[k]) for k in range(word_count(var))]


def set_words(ctx: Emitter, var: Var, words: list[Opnd]) -> None:
    """Assign all words of the variable (no guard)."""
    offset = ctx.state.frame_offset.get(var)
    if offset is not None:
        base = ctx.frame(offset)
        for k, w in enumerate(words):
            ctx.b.emit("STL", [], [K_NONE, base, URZ, imm(4 * k), w])
        return
    keys = ctx.state.param_words[var]
    for k in range(min(len(words), word_count(var))):
        ctx.set(keys[k], words[k])


def _word(ctx: Emitter, var: Var, index: int) -> int:
    """One of the variable's words; one beyond its ends is a word of its own, which only accesses to the same place read."""
    words = ctx.state.param_words[var]
    if index not in words:
        words[index] = ctx.temp()
    return words[index]


def _shifted(ctx: Emitter, var: Var, offset: int, count: int) -> list[Opnd]:
    """`count` words from a byte offset that is no multiple of 4: each is in two words of the variable."""
    held = [ctx.get(_word(ctx, var, offset // 4 + k)) for k in range(count + 1)]
    given = [RZ if ctx.ssa.is_undef(w) else w for w in held]
    selector = 0x3210 + 0x1111 * (offset % 4)
    return [ctx.b.r("PRMT", given[k], imm(selector), given[k + 1]) for k in range(count)]


def _put(ctx: Emitter, key: int, selector: int, value: Opnd) -> None:
    """Puts bytes of a value, which are 4 to 7 of the selector, into a word, whose bytes are 0 to 3."""
    old = ctx.get(key)
    if ctx.ssa.is_undef(old) or is_zero_reg(old):
        old = RZ
    ctx.write_key(key, ctx.b.r("PRMT", old, imm(selector), value), 1)


def load(ctx: Emitter, var: Var, offset: int, type_: str) -> Opnd:
    """``ld.param`` of one element at a constant byte offset; 8- and 16-bit values are extended to 32 bits."""
    bits = TYPE_BITS[type_]
    if offset % 4 + min(bits, 32) // 8 > 4:  # not in whole words
        part = _shifted(ctx, var, offset, max(1, bits // 32))
        if bits < 32:
            return ctx.b.r("PRMT", part[0], imm(extract_selector(0, bits, type_ in SIGNED)), RZ)
        return part[0] if len(part) == 1 else ctx.b.pack(*part)
    if bits >= 32:
        part = [ctx.get(_word(ctx, var, offset // 4 + k)) for k in range(bits // 32)]
        return part[0] if len(part) == 1 else ctx.b.pack(*part)
    word = ctx.get(_word(ctx, var, offset // 4))
    return ctx.b.r("PRMT", word, imm(extract_selector(offset % 4, bits, type_ in SIGNED)), RZ)


def store(ctx: Emitter, var: Var, offset: int, type_: str, value: Opnd) -> None:
    """``st.param`` of one element at a constant byte offset, under the current guard."""
    bits = TYPE_BITS[type_]
    at = offset % 4
    if at + min(bits, 32) // 8 > 4:  # not in whole words
        for k in range(max(1, bits // 32)):
            word = ctx.word(value, k) if bits > 32 else value
            count = min(bits, 32) // 8
            first = insert_selector(at, 8 * (4 - at))
            rest = 0x3210
            for j in range(count - (4 - at)):
                rest = rest & ~(15 << 4 * j) | (4 + 4 - at + j) << 4 * j
            _put(ctx, _word(ctx, var, offset // 4 + k), first, word)
            _put(ctx, _word(ctx, var, offset // 4 + k + 1), rest, word)
        return
    if bits >= 32:
        for k in range(bits // 32):
            ctx.write_key(_word(ctx, var, offset // 4 + k), ctx.word(value, k) if bits > 32 else value, 1)
        return
    key = _word(ctx, var, offset // 4)
    if offset == 0 and var.size * 8 == bits:
        ctx.write_key(key, value, 1)
        return
    _put(ctx, key, insert_selector(at, bits), value)
