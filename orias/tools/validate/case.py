"""One launch to compare: shape, parameters, and the memory that pointers refer to."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

from orias.sim.core.launch_arguments import MOST_BLOCKS, MOST_THREADS
from orias.tools.validate.bound_objects import Handle, handle_of

Arr = npt.NDArray[Any]


_SPECIAL: Final = np.array((
    0, 1, 2, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0x3F800000, 0x7F800000, 0x7FC00000, 0x80000001, 0xC0000000, 0x00800000,
), np.uint32)  # fmt: skip

_EXTREMES: Final = np.array((
    0, 0x8000, 1, 0x8001, 0x7C00, 0xFC00, 0x7C01, 0x7E00, 0x7FFF, 0xFE55, 0x7F80, 0xFF80, 0x7F81, 0xFFC1,
), np.uint16)  # fmt: skip
"""Zeros, least numbers, infinities and NaNs of f16 and of bf16."""


@final
class Region:
    """A region of device memory; ``start`` is the byte offset of the pointer in it.

    ``profile``: its contents: ``small`` (words 0 to 15), ``float`` (f32 values up to 4), ``half`` (16-bit patterns that are numbers of moderate size as f16 and as bf16), ``extreme`` (the same, one in four an infinity, a NaN, a zero or
    the least number), ``random``,
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
        elif self.profile in ("half", "extreme"):
            halves = rng.integers(0x3400, 0x4400, 2 * words, dtype=np.uint16) | (
                rng.integers(0, 2, 2 * words, dtype=np.uint16) << np.uint16(15)
            )
            if self.profile == "extreme":
                pick = rng.integers(0, 4 * len(_EXTREMES), 2 * words)
                chosen = pick < len(_EXTREMES)
                halves[chosen] = _EXTREMES[pick[chosen]]
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
    """``params``: bytes of each parameter, in order; ``pointers``: (parameter, byte offset) -> region.

    ``handles``: (parameter, byte offset) -> texture, surface or sampler; ``references``: the same of references, by name.
    """

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self.grid: tuple[int, int, int] = (1, 1, 1)
        self.block: tuple[int, int, int] = (32, 1, 1)
        self.shared = 0
        self.params: list[bytearray] = []
        self.pointers: dict[tuple[int, int], Region] = {}
        self.handles: dict[tuple[int, int], Handle] = {}
        self.references: dict[str, Handle] = {}
        self.max_steps = 60_000

    def json(self) -> dict[str, Any]:
        """The case as a JSON object."""
        handles = [{"param": p, "offset": o} | h.json() for (p, o), h in self.handles.items()]
        handles += [{"name": n} | h.json() for n, h in self.references.items()]
        return {
            "kernel": self.kernel,
            "grid": list(self.grid),
            "block": list(self.block),
            "shared": self.shared,
            "params": [p.hex() for p in self.params],
            "pointers": [{"param": p, "offset": o} | _region_json(r) for (p, o), r in self.pointers.items()],
            **({"handles": handles} if handles else {}),
        }


def _region_json(r: Region) -> dict[str, Any]:
    out: dict[str, Any] = {"size": r.size, "profile": r.profile, "seed": r.seed, "start": r.start}
    if r.data is not None:
        out["data"] = r.data.hex()
    if r.inner is not None:
        out["inner"] = _region_json(r.inner)
    return out


_PROFILES: Final = ("small", "float", "half", "extreme", "random", "mixed", "zero", "")
MOST_BYTES: Final = 1 << 26
"""Bytes of all regions of a launch: what a simulator of this kind gets through."""
MOST_SHARED: Final = 1 << 18
MOST_STEPS: Final = 1 << 40


def number(d: dict[str, Any], name: str, default: int, most: int) -> int:
    """A whole number of a description of a launch, at most `most`; raises ValueError."""
    value = d.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise ValueError(f"{name} of a launch is a whole number from 0 to {most}, not {value!r}")
    return value


def _size(d: dict[str, Any], name: str, default: list[int], most: tuple[int, ...]) -> tuple[int, int, int]:
    value = d.get(name, default)
    if not isinstance(value, list) or not 1 <= len(value) <= 3:
        raise ValueError(f"{name} of a launch is a list of one to three numbers, not {value!r}")
    x, y, z = [*value, 1, 1][:3]
    for axis, n, last in zip("xyz", (x, y, z), most, strict=True):
        if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= last:
            raise ValueError(f"{name} of a launch has a number from 1 to {last} in {axis}, not {n!r}")
    return x, y, z


def shape_of(d: dict[str, Any]) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Grid and block of a description of a launch; raises ValueError."""
    block = _size(d, "block", [32], (MOST_THREADS,) * 3)
    if block[0] * block[1] * block[2] > MOST_THREADS:
        raise ValueError(f"block of a launch has at most {MOST_THREADS} threads, not {d['block']!r}")
    return _size(d, "grid", [1], MOST_BLOCKS), block


def _region(p: dict[str, Any], nested: bool = False) -> Region:
    data = bytes.fromhex(p["data"]) if "data" in p else None
    size = number(p, "size", -1, MOST_BYTES)
    profile = p.get("profile", "random")
    if profile not in _PROFILES:
        raise ValueError(f"profile of a region is one of {', '.join(_PROFILES[:-1])}, not {profile!r}")
    if data is not None and len(data) > size:
        raise ValueError(f"a region of {size} bytes has {len(data)} bytes of data")
    r = Region(size, profile, number(p, "seed", 0, (1 << 63) - 1), number(p, "start", 0, size), data)
    if "inner" in p and not nested:
        r.inner = _region(p["inner"], True)
    return r


def cases_of(path: str, read: Callable[[dict[str, Any]], Case]) -> list[Case]:
    """The cases of a JSON file, one object or a list of them, each read by `read`; ValueError for what is none."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        return [read(d) for d in (data if isinstance(data, list) else [data])]
    except KeyError as e:
        raise ValueError(f"{path}: no description of a launch: {e} is missing") from None
    except (TypeError, AttributeError, OverflowError, RecursionError, ValueError) as e:
        raise ValueError(f"{path}: no description of a launch: {e}") from None


def from_json(d: dict[str, Any]) -> Case:
    """The inverse of :meth:`Case.json`; raises KeyError, TypeError, AttributeError or ValueError for what is no case."""
    c = Case(str(d["kernel"]))
    c.grid, c.block = shape_of(d)
    c.shared = number(d, "shared", 0, MOST_SHARED)
    c.params = [bytearray.fromhex(p) for p in d.get("params", [])]
    total = 0
    for p in d.get("pointers", []):
        param, offset = _place(p, c)
        region = _region(p)
        total += region.size + (region.inner.size if region.inner is not None else 0)
        if total > MOST_BYTES:
            raise ValueError(f"the regions of a launch have at most {MOST_BYTES} bytes")
        c.pointers[param, offset] = region
    for h in d.get("handles", []):
        if "name" in h:
            c.references[str(h["name"])] = handle_of(h)
        else:
            c.handles[_place(h, c)] = handle_of(h)
    return c


def _place(d: dict[str, Any], case: Case) -> tuple[int, int]:
    """The parameter, and the offset in it, of a description of 8 bytes there."""
    param = number(d, "param", -1, len(case.params) - 1)
    return param, number(d, "offset", 0, max(len(case.params[param]) - 8, 0))
