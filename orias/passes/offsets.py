"""Width of the offset field of an address: what address folding may fill and the legaliser must keep to."""

from orias.ori.ir import Inst


def offset_fits(inst: Inst, group: int, offset: int) -> bool:
    """True if the address group that starts at source `group` can hold the byte offset."""
    op = inst.op
    limit = 1 << (op.offset_bits[op.addr.index(group)] - 1)
    return -limit <= offset < limit
