"""Code of other compilers as functions: sections of a cubin decoded, blocks cut at branches and their targets."""

import struct
from pathlib import Path

from orias.cubin.elf import ElfFile
from orias.isa.decode import Decoded
from orias.isa.isa_table import IsaTable, load
from orias.isa.operand import K_IMM, K_P, K_UP, KIND_MASK, PAYLOAD_SHIFT, PT, is_true_pred
from orias.ori.ir import Block, Func, Inst
from orias.target.decoder_class import table_of_sm
from orias.target.profile import Target


def code_of(cubin: bytes, name: str = "k") -> list[Decoded]:
    """The instructions of a kernel of a cubin."""
    file = ElfFile(cubin)
    data = next(s.data for s in file.sections if s.name == f".text.{name}")
    table = load(table_of_sm(file.sm))
    return [table.decode(int.from_bytes(data[k : k + 16], "little")) for k in range(0, len(data), 16)]


def text_sections(path: Path) -> list[tuple[str, bytes]]:
    """(name, bytes) of every ``.text`` section of an ELF file."""
    data = path.read_bytes()
    shoff = struct.unpack_from("<Q", data, 0x28)[0]
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    heads = [struct.unpack_from("<IIQQQQ", data, shoff + size * k) for k in range(count)]
    strings = heads[names][4]
    out: list[tuple[str, bytes]] = []
    for name, _, _, _, offset, length in heads:
        text = data[strings + name : data.index(b"\0", strings + name)].decode()
        if text.startswith(".text."):
            out.append((text[6:], data[offset : offset + length]))
    return out


def _distance(inst: Inst) -> int:
    value = inst.src[-1] >> PAYLOAD_SHIFT
    return value - (1 << 64) if value >> 63 else value


def function(name: str, code: bytes, target: Target) -> Func:
    """One function of a section; code that a decoder refuses ends it."""
    table: IsaTable = load(target.table)
    fn = Func(name, target)
    fn.state = "final"
    insts: list[Inst] = []
    for at in range(0, len(code), 16):
        d = table.decode(int.from_bytes(code[at : at + 16], "little"))
        inst = fn.new_inst(d.op, d.dst, d.src, d.guard)
        inst.ctl = d.ctl
        insts.append(inst)
    leaders = {0}
    for k, inst in enumerate(insts):
        base = inst.op.base
        if base == "BRA":
            leaders.add(k + 1 + _distance(inst) // 16)
        if inst.is_terminator() or base == "BRX" or (base in ("EXIT", "RET") and inst.guard == PT):
            leaders.add(k + 1)
    blocks: dict[int, Block] = {}
    for k, inst in enumerate(insts):
        if k in leaders:
            blocks[k] = fn.new_block()
            fn.blocks.append(blocks[k])
        fn.blocks[-1].insts.append(inst)
    starts = sorted(blocks)
    for n, k in enumerate(starts):
        b = blocks[k]
        last = b.insts[-1]
        after = starts[n + 1] if n + 1 < len(starts) else -1
        goes_on = True
        if last.op.base == "BRA":
            conditional = last.guard != PT or any(
                s & KIND_MASK in (K_P, K_UP) and not is_true_pred(s) for s in last.src[:-1]
            )
            target_at = k + len(b.insts) + _distance(last) // 16
            if conditional and after >= 0:
                fn.link(b, blocks[after])
            if target_at in blocks and last.src[-1] & KIND_MASK == K_IMM:
                fn.link(b, blocks[target_at])
            goes_on = False
        elif last.is_terminator() or last.op.base == "BRX":
            goes_on = False
        if goes_on and after >= 0:
            fn.link(b, blocks[after])
    return fn
