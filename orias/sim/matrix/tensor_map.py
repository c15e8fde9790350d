"""The 128-byte tensor map of tensor copies: encoding and decoding.

The layout is that of the code of ptxas 13.0.88 for ``tensormap.replace``: global address at byte 0; in the word at byte
8 rank minus one (bits 4..6), element type (7..10), interleave (11..12), swizzle (13..14), fill mode (15), rounding to
tf32 (16); strides of dimension 1 and up in 16-byte units, 32 bits each from byte 12, and four more bits each in the word at byte 28; sizes
minus one from byte 32; traversal strides minus one, three bits each, in the word at byte 52; box sizes minus one, one
byte each, from byte 55.

Elements of less than a byte are packed in global memory; in shared memory 16 of them take 8 or 16 bytes, as the CUDA
driver's documentation of ``CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B`` and its like says.  The gaps keep their contents.

The layout of maps in im2col mode is not public.  This simulator uses its own: bit 0 of the word at byte 8 set; channels
per pixel minus one at byte 55; lower corners at byte 56 and upper corners at byte 59, one signed byte per dimension
between channel and image number; pixels per column minus one in the halfword at byte 62.  These maps work with this
simulator only.
"""

from collections.abc import Sequence
from typing import Final

ELEMENT_TYPES: Final[tuple[str, ...]] = (
    "u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32.ftz", "f64", "bf16", "tf32", "tf32.ftz",
)  # fmt: skip
"""Numbers of element types, as in ``tensormap.replace``; in a map tf32 is f32 with the bit for rounding."""
_CODES: Final = 11
"""Element types with a code of their own; the codes after them are those of NARROW."""
NARROW: Final[dict[str, tuple[int, int]]] = {"b4x16": (8, 8), "b4x16_p64": (8, 16), "b6x16_p32": (12, 16)}
"""Types of less than a byte -> (bytes of 16 elements in global memory, where they are packed; bytes in shared memory)."""
_GROUP: Final = 16
_ROUND: Final = 16
_BYTES: Final[dict[str, int]] = {
    "u8": 1, "u16": 2, "u32": 4, "s32": 4, "u64": 8, "s64": 8, "f16": 2, "f32": 4, "f32.ftz": 4, "f64": 8, "bf16": 2, "tf32": 4, "tf32.ftz": 4,
}  # fmt: skip
SWIZZLES: Final[tuple[str, ...]] = ("none", "32B", "64B", "128B")
SIZE: Final = 128


class TensorMap:
    """The fields of a tensor map.  Dimension 0 is the innermost; ``strides`` are in bytes and include dimension 0."""

    def __init__(self, raw: bytes) -> None:
        if len(raw) != SIZE:
            raise ValueError(f"a tensor map has {SIZE} bytes, not {len(raw)}")

        def word(at: int) -> int:
            return int.from_bytes(raw[at : at + 4], "little")

        flags = word(8)
        self.address = int.from_bytes(raw[:8], "little")
        self.rank = (flags >> 4 & 7) + 1
        number = flags >> 7 & 15
        narrow = list(NARROW)[number - _CODES : number - _CODES + 1] if number >= _CODES else []
        if self.rank > 5 or (number >= _CODES and not narrow):
            raise ValueError("no tensor map: rank or element type out of range")
        self.type = narrow[0] if narrow else ELEMENT_TYPES[number]
        if flags >> _ROUND & 1 and self.type.startswith("f32"):
            self.type = self.type.replace("f32", "tf32")
        self.size, self.room = NARROW[self.type] if narrow else (_BYTES[self.type],) * 2
        """Bytes of an element in global and in shared memory; of 16 elements of less than a byte, which count as one here."""
        self.group = _GROUP if narrow else 1
        """Elements in one of these."""
        self.interleave = flags >> 11 & 3
        self.swizzle = flags >> 13 & 3
        self.fill = flags >> 15 & 1
        self.im2col = bool(flags & 1)
        high = word(28)
        self.strides = [self.size]
        self.strides += [(word(12 + 4 * d) | (high >> 4 * d & 15) << 32) << 4 for d in range(self.rank - 1)]
        self.dims = [word(32 + 4 * d) + 1 for d in range(self.rank)]
        self.steps = [(word(52) >> 3 * d & 7) + 1 for d in range(self.rank)]
        self.box = [raw[55 + d] + 1 for d in range(self.rank)]
        self.channels = raw[55] + 1
        middle = range(self.rank - 2)
        self.lower = [int.from_bytes(raw[56 + d : 57 + d], "little", signed=True) for d in middle]
        self.upper = [int.from_bytes(raw[59 + d : 60 + d], "little", signed=True) for d in middle]
        self.pixels = int.from_bytes(raw[62:64], "little") + 1
        if narrow:
            if self.dims[0] % _GROUP or self.box[0] % _GROUP or self.steps[0] > 1 or self.im2col:
                raise ValueError(f"a map of {self.type} whose innermost sizes are no multiples of {_GROUP} elements")
            self.dims[0] //= _GROUP
            self.box[0] //= _GROUP


def tensormap(
    type_: str,
    address: int,
    dims: Sequence[int],
    strides: Sequence[int],
    box: Sequence[int] = (),
    steps: Sequence[int] = (),
    swizzle: str = "none",
    fill_nan: bool = False,
    corners: tuple[Sequence[int], Sequence[int]] | None = None,
    channels: int = 0,
    pixels: int = 0,
    interleave: int = 0,
) -> bytes:
    """Encodes a tensor map for a launch in the simulator; the module's description has layout and limits.

    ``type_``: one of ELEMENT_TYPES or of NARROW; ``dims``: sizes, innermost first; ``strides``: bytes between neighbours in
    dimensions 1 and up (one fewer than dims); ``box``: elements of a tile in each dimension; ``steps``: traversal
    strides (default 1); ``fill_nan``: elements outside the tensor read as NaN instead of zero.  With ``corners``
    (lower, upper: one number per dimension except the first and the last), ``channels`` and ``pixels`` the result is an
    im2col map.  ``interleave``: 1 and 2 for slices of 16 and 32 bytes of channels; copies with such maps are refused.  Raises ValueError for values that a map cannot hold.
    """
    rank = len(dims)
    if not 1 <= rank <= 5 or len(strides) != rank - 1 or any(s % 16 or not 0 <= s < 1 << 40 for s in strides):
        raise ValueError("a tensor map needs 1 to 5 sizes, and strides that are multiples of 16 for all but the first")
    raw = bytearray(SIZE)
    raw[:8] = address.to_bytes(8, "little")
    number = ELEMENT_TYPES.index(type_) if type_ in ELEMENT_TYPES else _CODES + list(NARROW).index(type_)
    rounds = type_.startswith("tf32")
    code = ELEMENT_TYPES.index(type_[1:]) if rounds else number
    flags = (
        (rank - 1) << 4
        | code << 7
        | interleave << 11
        | SWIZZLES.index(swizzle) << 13
        | fill_nan << 15
        | rounds << _ROUND
    )
    high = 0
    for d, s in enumerate(strides):
        raw[12 + 4 * d : 16 + 4 * d] = (s >> 4 & 0xFFFFFFFF).to_bytes(4, "little")
        high |= (s >> 36) << 4 * d
    raw[28:32] = high.to_bytes(4, "little")
    for d, n in enumerate(dims):
        raw[32 + 4 * d : 36 + 4 * d] = (n - 1).to_bytes(4, "little")
    traversal = sum((s - 1) << 3 * d for d, s in enumerate(steps or [1] * rank))
    raw[52:56] = traversal.to_bytes(4, "little")
    if corners is None:
        if len(box) != rank or any(not 1 <= n <= 256 for n in box):
            raise ValueError("a tile has 1 to 256 elements in each dimension")
        for d, n in enumerate(box):
            raw[55 + d] = n - 1
    else:
        if (
            rank < 3
            or len(corners[0]) != rank - 2
            or len(corners[1]) != rank - 2
            or not 1 <= channels <= 256
            or pixels < 1
        ):
            raise ValueError("an im2col map has 3 to 5 dimensions, corners for the inner ones, channels and pixels")
        flags |= 1
        raw[55] = channels - 1
        for at, numbers in zip((56, 59), corners, strict=True):
            for d, n in enumerate(numbers):
                raw[at + d : at + d + 1] = n.to_bytes(1, "little", signed=True)
        raw[62:64] = (pixels - 1).to_bytes(2, "little")
    raw[8:12] = flags.to_bytes(4, "little")
    return bytes(raw)
