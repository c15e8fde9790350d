"""Answers to PTX queries that a driver keeps in descriptors, and those descriptors in simulated memory.

Address and filter modes have the numbers of ptxas 13.0.88 in initialisers of samplers.  PTX leaves channel types and
orders to the source language: these are OpenCL's (``cl.h``), unless an object has a ``descriptor`` of its own.  The
values of ``memory_layout`` are not documented: it is always 0.
"""

from typing import Any, Final

from orias.sim.core.banked_memory import Arena
from orias.sim.core.sim_errors import Fault, IllegalInstruction
from orias.sim.texture.sampler import Sampler
from orias.sim.texture.surface_object import Surface
from orias.sim.texture.texture_object import Texture
from orias.target import descriptors

ROW: Final = 64
"""Bytes of a descriptor in the simulator; the driver's size is unknown."""
_ADDRESS: Final[dict[str, int]] = {"wrap": 0, "mirror": 1, "clamp": 3, "border": 4}
_TYPES: Final[dict[str, int]] = {
    "i1": 0x10D7, "i2": 0x10D8, "i4": 0x10D9, "u1": 0x10DA, "u2": 0x10DB, "u4": 0x10DC, "f2": 0x10DD, "f4": 0x10DE,
}  # fmt: skip
_NORMALIZED: Final[dict[str, int]] = {"i1": 0x10D0, "i2": 0x10D1, "u1": 0x10D2, "u2": 0x10D3}
_ORDERS: Final[dict[int, int]] = {1: 0x10B0, 2: 0x10B2, 4: 0x10B5}
_KINDS: Final[dict[str, type[Any]]] = {"texture": Texture, "sampler": Sampler, "surface": Surface}


def described(thing: Any, query: str) -> int:
    """The answer to a query that is not for a size; a Fault if the object has none."""
    own = getattr(thing, "descriptor", {})
    if query in own:
        return int(own[query])
    sampler = thing.sampler if isinstance(thing, Texture) else thing
    if isinstance(sampler, Sampler):
        if query.startswith("addr_mode_"):
            return _ADDRESS[sampler.address[int(query[-1])]]
        known = {
            "filter_mode": int(sampler.linear), "normalized_coords": int(sampler.normalized),
            "force_unnormalized_coords": int(not sampler.normalized),
        }  # fmt: skip
        if query in known:
            return known[query]
    if isinstance(thing, Texture | Surface) and query != "memory_layout":
        array = thing.levels[0] if isinstance(thing, Texture) else thing.array
        code = array.dtype.str[1:]
        normalized = isinstance(thing, Texture) and thing.read_normalized
        if query == "channel_data_type":
            return (_NORMALIZED if normalized else _TYPES)[code]
        if query == "channel_order":
            return _ORDERS[thing.channels]
        if query == "array_size":
            return array.shape[0] if thing.kind.startswith("a") else 0
    if isinstance(thing, Texture):
        more = {"num_mipmap_levels": len(thing.levels), "num_samples": thing.samples()}
        if query in more:
            return more[query]
    if query == "memory_layout":
        return 0
    raise Fault(IllegalInstruction, f"{query} of a {type(thing).__name__.lower()}", 0)


def write_tables(arena: Arena, independent: bool) -> dict[str, int]:
    """Writes tables of all current objects; returns the address of each table by its name."""
    count = max(arena.objects, default=0) + 1
    out = {}
    for table in descriptors.TABLES:
        data = bytearray(ROW * count)
        for number, thing in arena.objects.items():
            for query, (where, offset) in descriptors.rows(table == "surface", independent).items():
                if where == table and isinstance(thing, _KINDS[table]):
                    value = described(thing, query) if query != "memory_layout" else 0
                    at = number * ROW + offset
                    # force_unnormalized_coords and memory_layout share a word, which has the former.
                    if query != "memory_layout" or data[at : at + 4] == bytes(4):
                        data[at : at + 4] = value.to_bytes(4, "little")
        out[table] = arena.allocate(len(data), f"{table} descriptors")
        arena.write(out[table], bytes(data))
    return out
