"""``.nv.callgraph`` and ``.nv.prototype``: who calls whom, for the linker and the loader.

Source: ``docs/facts/cubin.md``, "Call graph and prototypes".

The graph is four lists of pairs of 32-bit words, each preceded by (0, -n): direct calls (caller, callee); functions
whose address is taken (function, prototype); indirect call sites (caller, prototype); functions that take an address
(caller, function).  A prototype is the offset of its text in ``.strtab``.  Executable modules list only the undefined
callees.
"""

from struct import pack

from orias.cubin.cubin_error import CubinError
from orias.cubin.model import CubinModule
from orias.target import driver


def callgraph(module: CubinModule, index: dict[str, int], prototypes: dict[str, int]) -> bytes:
    """The section's bytes; ``index`` is the symbol index by name, ``prototypes`` the offset of a prototype text in .strtab."""

    def number(name: str) -> int:
        if name not in index:
            raise CubinError(f"the call graph names {name}, which is no symbol")
        return index[name]

    out = pack("<Ii", 0, -1)
    for edge in module.calls:
        out += pack("<II", number(edge.caller), number(edge.callee))
    out += pack("<Ii", 0, -2)
    for name, proto in module.address_taken:
        out += pack("<II", number(name), prototypes[proto])
    out += pack("<Ii", 0, -3)
    for name, proto in module.indirect_calls:
        out += pack("<II", number(name), prototypes[proto])
    out += pack("<Ii", 0, -4)
    for edge in module.address_uses:
        out += pack("<II", number(edge.caller), number(edge.callee))
    return out


def prototype_text(name: str, result: str, params: list[str]) -> str:
    """The prototype string of a function.

    Types are PTX scalar types of 32 or 64 bits (``b32``, ``u64``, ``f32``...), or a number of bytes (``24``) for byte
    arrays; ``result`` may be empty.  The suffix of known driver functions tells the linker which registers they use.
    It is copied from objects of ptxas; its supposed meaning is 12 argument registers from R4, return address in R20,
    scratch registers as a mask.
    """
    text = "#" + (_letter(result) if result else "v") + "".join(_letter(p) for p in params)
    if driver.known_registers(name):
        text += "|12p4r20sRx" + f"{0xFFF9:064x}"
    return text


def _letter(type_: str) -> str:
    if type_.isdigit():
        return f"b{type_}"
    if type_ in ("f32", "f64"):
        return "f" if type_ == "f32" else "d"
    if type_ in ("b8", "u8", "s8"):
        return "b"
    if type_ in ("b16", "u16", "s16", "f16", "bf16"):
        return "h"
    if type_ in ("b32", "u32", "s32", "f16x2", "bf16x2"):
        return "i"
    if type_ in ("b64", "u64", "s64"):
        return "l"
    raise CubinError(f"type {type_!r} cannot stand in a prototype")
