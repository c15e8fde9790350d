"""Fills in addresses of functions in initialisers of variables."""

from orias.cubin.model import Reloc, Variable
from orias.lower.frame.data_layout import FUNCTION_BYTE, FUNCTION_OFFSET
from orias.output.result import KernelPart


def place_functions(v: Variable, parts: list[KernelPart]) -> None:
    """Fill in the function addresses of an initialiser in a module with one kernel, as offsets in its section."""
    waiting = [r for r in v.relocs if r.type < 0]
    if not waiting or v.data is None:
        return
    data = bytearray(v.data)
    for r in waiting:
        found = {
            offset: name for part in parts for name, offset, _ in part.copies if name == f"${part.code.name}${r.symbol}"
        }
        # A function that the only kernel cannot call has no copy.
        offset = max(found, default=0)
        place = (offset + r.addend).to_bytes(8, "little")
        whole = r.type == FUNCTION_OFFSET
        if whole:
            data[r.offset : r.offset + 8] = place
        else:
            data[r.offset] = place[r.type - FUNCTION_BYTE]
        if found:
            v.functions.append(Reloc(r.offset, 8 if whole else r.type - FUNCTION_BYTE, found[offset], r.addend))
    v.data = bytes(data)
    v.relocs = [r for r in v.relocs if r.type >= 0]
    v.relocs_applied = True
