"""Encodes final instructions into 128-bit words: addresses, labels, symbol references and data for the cubin's records.

One ``.text`` section holds the functions in order, the kernel first.  Offsets are bytes from the start
of that section.  The cubin writer adds the padding.
"""

from collections.abc import Sequence
from typing import Final, final

from orias.diag import Unsupported
from orias.isa.isa_table import EncodeError, IsaTable
from orias.isa.op import F_ADDS, F_RETURNS, F_TABLE_JUMP
from orias.isa.operand import (
    K_CONST,
    K_IMM,
    K_LABEL,
    K_SYM,
    K_WORD,
    PT,
    RZ,
    SP,
    UPT,
    URZ,
    Opnd,
    const,
    const_bank,
    const_offset,
    imm,
    imm64,
    imm_value,
    is_imm,
    kind_of,
    label_id,
    payload,
    r,
)
from orias.ori.ir import NO_CTL, Block, Func, Inst, SymRef
from orias.output.constant_lines import constant_lines
from orias.target import features
from orias.target.profile import Target

INST_BYTES: Final = 16
_SLOTS: Final = 4
"""The constant bank with the addresses of global variables and undefined functions."""
_WINDOW_SHIFT: Final = imm(24)
"""Bits of the shared window of a block, by which its number in the cluster is shifted."""
_WINDOW_OPERATIONS: Final = ("LEA", "ULEA")
"""With that shift and the size of reserved shared memory they make a block's window.

A program's own sum of this shape is taken for one too: it gets the same number, which is one for all targets that a capsule can
be finalised for.
"""
_UNIFIED_TABLE: Final = "__UFT_OFFSET"
_NO_FUNCTION: Final = 1
"""First entry of a table of function pointers, which is no valid code offset."""
_AS_THEY_ARE: Final = (
    "lo32", "hi32", "abs16", "abs32", "unified_lo32", "unified_hi32", "descriptor_lo32", "descriptor_hi32", "bindless",
)  # fmt: skip
"""Kinds of references that become relocations of the same kind."""
_ZERO: Final = imm(0)
_MASK32: Final = (1 << 32) - 1
_INVERTED: Final[dict[Opnd, Opnd]] = {
    imm(a): imm(b) for a, b in ((0x30, 0xC0), (0x03, 0x0C), (0xF3, 0xFC), (0x3F, 0xCF), (0xC3, 0x3C))
}
"""Tables of LOP3 that read the inverse of the second source, of two, and those that read it as it is."""
_MASK64: Final = (1 << 64) - 1


@final
class TextReloc:
    """A field in the code that the cubin writer or a linker fills in.

    ``kind``: ``lo32`` and ``hi32`` (halves of an address, in the immediate field; ``unified_lo32``, ``unified_hi32``
    for functions on sm_90, ``descriptor_lo32``, ``descriptor_hi32`` for kernels), ``abs32`` (offset in shared memory), ``abs16`` (offset in constant bank 3), ``call``
    (absolute target of a CALL), ``call_unified`` (added to the target of a CALL in a register), ``call_rel`` (relative target outside this section), ``const_opt`` (constant of bank
    2).  Counted from the start of the section; ``addend`` in bytes.
    """

    __slots__ = ("addend", "kind", "offset", "symbol")

    def __init__(self, offset: int, kind: str, symbol: str, addend: int) -> None:
        self.offset: int = offset
        self.kind: str = kind
        self.symbol: str = symbol
        self.addend: int = addend


@final
class EmittedText:
    """One section of code and the offsets in it, each list ascending."""

    __slots__ = (
        "addresses", "barriers", "branch_tables", "calls", "code", "exits", "functions", "guard_traps", "lines", "places", "register_barrier",
        "relative_addresses", "relocs", "shared_windows", "slot_uses", "spills",
        "stack_adjust", "table_bytes",
    )  # fmt: skip

    def __init__(self) -> None:
        self.code: bytes = b""
        self.functions: list[tuple[str, int, int]] = []
        """(name, offset, size in bytes) of each function."""
        self.addresses: list[tuple[int, int]] = []
        """(offset, section offset) of each instruction whose immediate is the address of a function or a return address, without a relocation."""
        self.relative_addresses: bool = False
        """Some instruction has another code address, or a distance in the code, as an operand that is no branch target."""
        self.exits: list[int] = []
        """Every EXIT, including guarded ones."""
        self.spills: list[int] = []
        """Every store and load of a spilled value."""
        self.guard_traps: list[int] = []
        """Every trap of a check of the frame's guard."""
        self.barriers: list[int] = []
        """Every BAR."""
        self.register_barrier: bool = False
        """Some BAR takes its number from a register."""
        self.calls: list[tuple[int, str, str]] = []
        """(offset, kind, target or empty) of each CALL; kinds as in CallInfo."""
        self.relocs: list[TextReloc] = []
        self.shared_windows: list[int] = []
        """Every instruction that puts the size of reserved shared memory into the address of the block's window."""
        self.slot_uses: list[tuple[int, int, bool]] = []
        """(offset, byte in constant bank 4, whether it is the operand of a load) of each instruction that reads that bank."""
        self.lines: list[tuple[int, int]] = []
        """(offset, PTX line): the line holds from here to the next entry."""
        self.places: dict[int, int] = {}
        """With -g: offset of each instruction of the first function, by uid."""
        self.branch_tables: list[tuple[int, list[int]]] = []
        """(offset of the BRX, section offsets of its targets in table order)."""
        self.table_bytes: bytes = b""
        """Constant bank 2: first tables (branch tables have 4 bytes per entry), then the constants of the pool."""
        self.stack_adjust: dict[str, int] = {}
        """Function name -> offset after the instruction that lowers R1, if there is one."""


def emit(
    funcs: list[Func],
    table: IsaTable,
    target: Target,
    own_sections: bool = False,
    pointers: Sequence[str] = (),
    unified: bool = False,
    self_check: bool = False,
) -> EmittedText:
    """Encode functions in state ``final`` (control words set, blocks laid out) as one section.

    ``own_sections``: functions have sections of their own (``-c``, ``-g``) and return addresses of absolute calls
    become relocations.  ``unified``: a linker may have to add the place of the unified function table to targets in registers.
    ``self_check``: every word must decode to its instruction.  Raises Unsupported, naming the
    instruction, if the table cannot encode it.
    """
    return _Emitter(funcs, table, target, own_sections, pointers, unified, self_check).run()


@final
class _Emitter:
    __slots__ = (
        "own_sections",
        "block_at",
        "func_at",
        "funcs",
        "mercury",
        "out",
        "owned",
        "pointers",
        "self_check",
        "table",
        "target",
        "unified",
        "window",
    )

    def __init__(
        self,
        funcs: list[Func],
        table: IsaTable,
        target: Target,
        own_sections: bool,
        pointers: Sequence[str],
        unified: bool,
        self_check: bool,
    ) -> None:
        self.unified: bool = unified
        self.self_check: bool = self_check
        self.funcs: list[Func] = funcs
        self.table: IsaTable = table
        self.target: Target = target
        self.mercury: bool = target.has(features.MERCURY_LAYOUT)
        self.window: set[Opnd] = {imm(target.number("system_shared")), _WINDOW_SHIFT} if self.mercury else set()
        self.own_sections: bool = own_sections
        self.pointers: Sequence[str] = pointers
        pool = funcs[0].pool if funcs else None
        self.owned: bool = pool is not None and pool.owner != ""
        self.out: EmittedText = EmittedText()
        self.func_at: dict[str, int] = {}
        self.block_at: list[dict[int, int]] = []

    def run(self) -> EmittedText:
        self._place()
        words: list[bytes] = []
        at = 0
        for fn, starts in zip(self.funcs, self.block_at, strict=True):
            for b in fn.blocks:
                # With -g each PTX instruction has code of its own.
                lines = {} if fn.locations else constant_lines(fn, b)
                for k, inst in enumerate(b.insts):
                    words.append(self._encode(fn, b, k, inst, at, starts))
                    self._note(fn, inst, at, lines.get(inst.uid, inst.loc))
                    at += INST_BYTES
        self.out.code = b"".join(words)
        self._tables()
        return self.out

    def _place(self) -> None:
        at = 0
        for fn in self.funcs:
            if fn.name in self.func_at:
                raise Unsupported(f"function {fn.name} is placed twice in a section")
            self.func_at[fn.name] = at
            start = at
            starts: dict[int, int] = {}
            for b in fn.blocks:
                starts[b.id] = at
                at += INST_BYTES * len(b.insts)
            self.block_at.append(starts)
            self.out.functions.append((fn.name, start, at - start))

    def _encode(self, fn: Func, b: Block, k: int, inst: Inst, at: int, starts: dict[int, int]) -> bytes:
        if inst.ctl == NO_CTL:
            raise Unsupported(f"{inst.op.name} has no control word", inst.loc)
        base = inst.op.base
        after = at + INST_BYTES
        written = self._spelled(inst) if self.mercury else inst.src
        src = [self._operand(fn, b, k, o, at, starts) for o in written]
        if base == "BRA":
            src.append(_distance(starts[b.succs[-1].id] - after))
        elif inst.op.flags & (F_TABLE_JUMP | F_RETURNS):
            # To a section offset in a register; the label is the start of the section.
            relative = inst.op.flags & F_TABLE_JUMP or inst.op.has("REL")
            src = [src[0], _distance(-after if relative else 0)]
        elif base == "CALL":
            src = self._call(fn, inst, src, at)
        # The results of a call are implicit.
        dst = [] if base == "CALL" else inst.dst
        try:
            value = self.table.encode(inst.op, inst.guard, dst, src, inst.ctl)
        except EncodeError as e:
            raise Unsupported(f"{e} in {fn.name}", inst.loc) from e
        if self.self_check:
            self._read_back(inst, dst, src, value)
        return value.to_bytes(16, "little")

    def _spelled(self, inst: Inst) -> list[Opnd]:
        """The sources as capsules have forms for: RZ for zeros where the operation takes a register (no barrier), no inverted immediate in a LOP3."""
        if inst.op.base == "BAR":
            return inst.src
        zero = URZ if inst.op.base[0] == "U" else RZ
        offsets = [a + 3 for a in inst.op.addr]
        src = [zero if o == _ZERO and k not in offsets else o for k, o in enumerate(inst.src)]
        if inst.op.base == "LOP3" and kind_of(src[1]) == K_IMM and src[2] == RZ and src[3] in _INVERTED:
            src[1], src[3] = imm(payload(src[1]) ^ _MASK32), _INVERTED[src[3]]
        return src if src != inst.src and self.table.accepts(inst.op, inst.guard, inst.dst, src) else inst.src

    def _read_back(self, inst: Inst, dst: list[Opnd], src: list[Opnd], word: int) -> None:
        """Check that the word decodes to its instruction; the text of a form may omit a PT at its end."""
        d = self.table.decode(word)
        if d.op is not inst.op or d.guard != inst.guard or not _reads(d.dst, dst) or not _reads(d.src, src):
            raise Unsupported(f"Self check: a word of {inst.op.name} reads '{self.table.text(word)}'", inst.loc)

    def _operand(self, fn: Func, b: Block, k: int, o: Opnd, at: int, starts: dict[int, int]) -> Opnd:
        kind = kind_of(o)
        if kind == K_LABEL:
            return _distance(starts[label_id(o)] - at - INST_BYTES)
        if kind != K_SYM:
            if self.owned and kind == K_CONST and const_bank(o) == 2:
                return self._pooled(fn, o, at)
            if kind == K_CONST and const_bank(o) == _SLOTS:
                self.out.slot_uses.append((at, const_offset(o), b.insts[k].op.base in ("LDC", "ULDC")))
            return o
        ref = fn.syms[payload(o)]
        if ref.kind in ("ret_lo", "ret_hi", "ret_rel"):
            return self._return_point(fn, b, k, ref, at, starts)
        if ref.kind in ("pc_lo", "pc_hi"):
            self.out.relative_addresses = True
            pc = _last_lepc(b, k, starts[b.id], b.insts[k])
            return imm(pc if ref.kind == "pc_lo" else 0)
        if ref.kind == "func" and b.insts[k].op.base == "CALL":
            return o
        if ref.kind in ("text_lo", "text_hi", "func", "func_lo", "func_hi"):
            low = ref.kind not in ("text_hi", "func_hi")
            where = self.func_at.get(ref.name)
            if where is not None and not self.own_sections:
                if low:
                    self.out.addresses.append((at, where + ref.addend))
                return imm(where + ref.addend if low else 0)
            self.out.relocs.append(TextReloc(at, "lo32" if low else "hi32", ref.name, ref.addend))
            return imm(0)
        if ref.kind in _AS_THEY_ARE:
            self.out.relocs.append(TextReloc(at, ref.kind, ref.name, ref.addend))
            return imm(0)
        if ref.kind == "cbank":
            self.out.relocs.append(TextReloc(at, ref.kind, ref.name, ref.addend))
            return const(2 if self.mercury else 0, 0)  # capsules state the bank
        raise Unsupported(
            f"{b.insts[k].op.name}: no place for a {ref.kind} reference to {ref.name} in the code", b.insts[k].loc
        )

    def _pooled(self, fn: Func, o: Opnd, at: int) -> Opnd:
        """A constant of bank 2; in a relocatable module the linker fills in bank and offset."""
        assert fn.pool is not None
        self.out.relocs.append(TextReloc(at, "const_opt", fn.pool.symbol(const_offset(o)), 0))
        return const(0, 0)

    def _return_point(self, fn: Func, b: Block, k: int, ref: SymRef, at: int, starts: dict[int, int]) -> Opnd:
        j = k + 1
        while j < len(b.insts) and b.insts[j].op.base != "CALL":
            j += 1
        if j == len(b.insts):
            raise Unsupported(f"return address in {fn.name} without a call after it", b.insts[k].loc)
        target = starts[b.id] + INST_BYTES * (j + 1)
        if ref.kind == "ret_rel":
            return _distance(target - at - INST_BYTES)
        info = fn.calls.get(b.insts[j].uid)
        linked = self.own_sections or (info is not None and info.kind == "extern")
        if linked and (b.insts[j].op.has("ABS") or self._returns_to_address(fn, b.insts[j])):
            kind = "lo32" if ref.kind == "ret_lo" else "hi32"
            owner = self.funcs[0].name
            self.out.relocs.append(TextReloc(at, kind, owner, target - self.func_at[owner]))
            return imm(0)
        if ref.kind == "ret_lo":
            self.out.addresses.append((at, target))
        return imm(target if ref.kind == "ret_lo" else 0)

    def _returns_to_address(self, fn: Func, call: Inst) -> bool:
        """True if a relative call is of a function of this section that returns to an address, not to an offset in the section."""
        o = call.src[0] if call.src else 0
        name = fn.syms[payload(o)].name if kind_of(o) == K_SYM else ""
        return any(i.op.base == "RET" and i.op.has("ABS") for f in self.funcs if f.name == name for i in f.insts())

    def _call(self, fn: Func, inst: Inst, src: list[Opnd], at: int) -> list[Opnd]:
        info = fn.calls.get(inst.uid)
        kind = info.kind if info else "abi"
        o = src[0] if src else 0
        if kind_of(o) != K_SYM:
            self.out.calls.append((at, kind, ""))
            if inst.op.has("REL"):
                return [o, _distance(-at - INST_BYTES)]
            if self.unified:
                self.out.relocs.append(TextReloc(at, "call_unified", _UNIFIED_TABLE, 0))
            return [o]
        name = fn.syms[payload(o)].name
        self.out.calls.append((at, kind, name))
        if inst.op.has("REL"):
            where = self.func_at.get(name)
            if where is not None:
                return [_distance(where - at - INST_BYTES)]
            raise Unsupported(f"relative call to {name}, which is not in this section", inst.loc)
        self.out.relocs.append(TextReloc(at, "call", name, 0))
        return [_distance(0)]

    def _note(self, fn: Func, inst: Inst, at: int, line: int) -> None:
        out = self.out
        base = inst.op.base
        if base == "EXIT":
            out.exits.append(at)
        elif inst.uid in fn.guard_traps:
            out.guard_traps.append(at)
        elif inst.uid in fn.spill_code:
            out.spills.append(at)
        elif base == "BAR":
            out.barriers.append(at)
            if inst.src and kind_of(inst.src[0]) not in (K_IMM, K_WORD):
                out.register_barrier = True
        elif self.mercury and base in _WINDOW_OPERATIONS and self.window <= set(inst.src):
            out.shared_windows.append(at)
        if line and (not out.lines or out.lines[-1][1] != line):
            out.lines.append((at, line))
        elif not line and fn.kind == "entry" and inst.dst[:1] == [SP] and out.lines and out.lines[-1][1]:
            # The start of the kernel, after code of PTX instructions.
            out.lines.append((at, 0))
        if fn.locations and fn is self.funcs[0]:
            out.places[inst.uid] = at
        if fn.name not in out.stack_adjust and _lowers_stack(inst):
            out.stack_adjust[fn.name] = at + INST_BYTES

    def _tables(self) -> None:
        image = bytearray()
        if self.pointers:
            places = [_NO_FUNCTION, *(self.func_at[name] for name in self.pointers)]
            image += b"".join(p.to_bytes(8, "little") for p in places)
        for fn, starts in zip(self.funcs, self.block_at, strict=True):
            for b in fn.blocks:
                if not b.insts or b.insts[-1].op.base != "BRX":
                    continue
                brx = b.insts[-1]
                jumps = fn.tables.get(brx.uid)
                if jumps is None:
                    raise Unsupported(f"BRX in {fn.name} has no jump table", brx.loc)
                targets = [starts[b.succs[k].id] for k in jumps.picks]
                self.out.branch_tables.append((starts[b.id] + INST_BYTES * (len(b.insts) - 1), targets))
                end = jumps.offset + 4 * len(targets)
                if len(image) < end:
                    image.extend(bytes(end - len(image)))
                image[jumps.offset : end] = b"".join(t.to_bytes(4, "little") for t in targets)
        pool = self.funcs[0].pool
        if pool is not None and pool.values:
            image.extend(bytes(pool.start - len(image)))
            image += pool.data()
        self.out.table_bytes = bytes(image)


def _distance(bytes_: int) -> Opnd:
    return imm64(bytes_)


def _last_lepc(b: Block, k: int, start: int, inst: Inst) -> int:
    """Section offset of the nearest LEPC before instruction `k` of the block."""
    for j in range(k - 1, -1, -1):
        if b.insts[j].op.base == "LEPC":
            return start + INST_BYTES * j
    raise Unsupported(f"{inst.op.name} refers to an LEPC that does not precede it", inst.loc)


def _lowers_stack(inst: Inst) -> bool:
    """True for ``R1 = R1 + negative immediate``."""
    if not inst.op.flags & F_ADDS or len(inst.dst) != 1 or len(inst.src) < 2:
        return False
    r1 = r(1)
    return inst.dst[0] == r1 and inst.src[0] == r1 and is_imm(inst.src[1]) and imm_value(inst.src[1]) >> 31 & 1 == 1


def _reads(found: list[Opnd], written: list[Opnd]) -> bool:
    """Whether the operands of a decoded word are those written, but for each PT at the end."""
    n = min(len(found), len(written))
    return found[:n] == written[:n] and all(o in (PT, UPT) for o in found[n:] + written[n:])
