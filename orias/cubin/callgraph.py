"""``.nv.callgraph`` and ``.nv.prototype``: who calls whom, for the linker and the loader (section 2.6 of the inventory).

The graph is four lists of pairs of 32-bit words, each opened by (0, -n): direct calls (caller, callee); functions whose
address is taken (function, prototype); indirect call sites (caller, prototype); places that take an address (caller,
function).  In executable modules only the undefined callees stay.
"""

from struct import pack

from orias.cubin.errors import CubinError
from orias.cubin.model import LOCAL, CubinModule


def callgraph(module: CubinModule, index: dict[str, int]) -> bytes:
    """The section's bytes; ``index`` is the symbol index by name."""

    def number(name: str) -> int:
        if name not in index:
            raise CubinError(f"the call graph names {name}, which is no symbol")
        return index[name]

    out = pack("<Ii", 0, -1)
    for edge in module.calls:
        out += pack("<II", number(edge.caller), number(edge.callee))
    out += pack("<Ii", 0, -2)
    for name, proto in module.address_taken:
        out += pack("<II", number(name), proto)
    out += pack("<Ii", 0, -3)
    for name, proto in module.indirect_calls:
        out += pack("<II", number(name), proto)
    out += pack("<Ii", 0, -4)
    for edge in module.address_uses:
        out += pack("<II", number(edge.caller), number(edge.callee))
    return out


def prototypes(module: CubinModule) -> list[str]:
    """Functions with a prototype record: in relocatable modules the callees that are not local."""
    if not module.relocatable:
        return []
    visible = {k.name for k in module.kernels if not k.is_entry and k.binding != LOCAL}
    undefined = {e.name for e in module.externs}
    out: list[str] = []
    for edge in module.calls:
        if edge.callee in visible | undefined and edge.callee not in out:
            out.append(edge.callee)
    return out
