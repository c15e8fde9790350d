"""The disassembler: cubin bytes to instructions or to a listing.

:func:`decode_text_section` gives instructions in the vocabulary of the IR, for the simulator.
"""

from orias.isa.table import Decoded, IsaTable, load

INST_BYTES = 16


def decode_text_section(code: bytes, table: str | IsaTable) -> list[Decoded]:
    """The instructions of a ``.text`` section, each with its byte address in ``addr``.

    `table` is an instruction table or its name (``Target.table``).  Raises ValueError if the length is no multiple of 16,
    IllegalWord if a word is not an instruction.
    """
    t = load(table) if isinstance(table, str) else table
    if len(code) % INST_BYTES:
        raise ValueError(f"code of {len(code)} bytes is not a whole number of instructions")
    out: list[Decoded] = []
    for addr in range(0, len(code), INST_BYTES):
        d = t.decode(int.from_bytes(code[addr : addr + INST_BYTES], "little"))
        d.addr = addr
        out.append(d)
    return out
