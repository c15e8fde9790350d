"""One launch to compare: shape, parameters, and the memory that pointers refer to."""

from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

Arr = npt.NDArray[Any]


_SPECIAL: Final = np.array((
    0, 1, 2, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0x3F800000, 0x7F800000, 0x7FC00000, 0x80000001, 0xC0000000, 0x00800000,
), np.uint32)  # fmt: skip


@final
class Region:
    """A region of device memory; ``start`` is the byte offset of the pointer in it.

    ``profile``: its contents: ``small`` (words 0 to 15), ``float`` (f32 values up to 4), ``half`` (16-bit patterns that are numbers of moderate size as f16 and as bf16), ``random``,
    ``mixed`` (bits, bytes, and numbers at the ends of their ranges), ``zero``.  ``inner``: a second region; the first one then holds pointers to it alone, as a structure or a table.
    """

    def __init__(self, size: int, profile: str, seed: int, start: int = 0, data: bytes | None = None) -> None:
        self.size = size
        self.profile = profile
        self.seed = seed
        self.start = start
        self.data = data
        self.inner: Region | None = None

    def bytes(self) -> Arr:
        """The contents before the launch."""
        if self.data is not None:
            out = np.zeros(self.size, np.uint8)
            out[: len(self.data)] = np.frombuffer(self.data, np.uint8)
            return out
        rng = np.random.default_rng(self.seed)
        words = -(-self.size // 4)
        if self.profile == "small":
            v = rng.integers(0, 16, words, dtype=np.uint32)
        elif self.profile == "float":
            v = ((rng.random(words, dtype=np.float32) - np.float32(0.5)) * np.float32(8)).view(np.uint32)
        elif self.profile == "half":
            halves = rng.integers(0x3400, 0x4400, 2 * words, dtype=np.uint16) | (
                rng.integers(0, 2, 2 * words, dtype=np.uint16) << np.uint16(15)
            )
            v = halves.view(np.uint32)
        elif self.profile == "mixed":
            bits = rng.integers(0, 1 << 32, words, dtype=np.uint32)
            roll = rng.random(words)
            special = _SPECIAL[bits % np.uint32(len(_SPECIAL))]
            v = np.select([roll < 0.4, roll < 0.7], [bits, special], bits & np.uint32(255)).astype(np.uint32)
        elif self.profile == "zero":
            v = np.zeros(words, np.uint32)
        else:
            v = rng.integers(0, 1 << 32, words, dtype=np.uint32)
        return v.view(np.uint8)[: self.size]


@final
class Case:
    """``params``: bytes of each parameter, in order; ``pointers``: (parameter, byte offset) -> region."""

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self.grid: tuple[int, int, int] = (1, 1, 1)
        self.block: tuple[int, int, int] = (32, 1, 1)
        self.shared = 0
        self.params: list[bytearray] = []
        self.pointers: dict[tuple[int, int], Region] = {}
        self.max_steps = 60_000

    def json(self) -> dict[str, Any]:
        """The case as a JSON object."""
        return {
            "kernel": self.kernel,
            "grid": list(self.grid),
            "block": list(self.block),
            "shared": self.shared,
            "params": [p.hex() for p in self.params],
            "pointers": [{"param": p, "offset": o} | _region_json(r) for (p, o), r in self.pointers.items()],
        }


def _region_json(r: Region) -> dict[str, Any]:
    out: dict[str, Any] = {"size": r.size, "profile": r.profile, "seed": r.seed, "start": r.start}
    if r.data is not None:
        out["data"] = r.data.hex()
    if r.inner is not None:
        out["inner"] = _region_json(r.inner)
    return out


def _region(p: dict[str, Any], nested: bool = False) -> Region:
    data = bytes.fromhex(p["data"]) if "data" in p else None
    r = Region(int(p["size"]), p.get("profile", "random"), int(p.get("seed", 0)), int(p.get("start", 0)), data)
    if "inner" in p and not nested:
        r.inner = _region(p["inner"], True)
    return r


def from_json(d: dict[str, Any]) -> Case:
    """The inverse of :meth:`Case.json`; raises KeyError, TypeError or ValueError for what is no case."""
    c = Case(str(d["kernel"]))
    g, b = [*d.get("grid", []), 1, 1, 1], [*d.get("block", [32]), 1, 1, 1]
    c.grid, c.block = (int(g[0]), int(g[1]), int(g[2])), (int(b[0]), int(b[1]), int(b[2]))
    c.shared = int(d.get("shared", 0))
    c.params = [bytearray.fromhex(p) for p in d.get("params", [])]
    for p in d.get("pointers", []):
        c.pointers[int(p["param"]), int(p.get("offset", 0))] = _region(p)
    return c
