"""The LZ4 block format, decoding only (format: ``lz4_Block_format.md`` of the LZ4 project)."""

from orias.cubin.cubin_error import CubinError


def _extended(data: bytes, pos: int, length: int) -> tuple[int, int]:
    """Reads a length: 15 continues in further bytes up to one that is not 255; returns (length, next position)."""
    while True:
        b = data[pos]
        pos += 1
        length += b
        if b != 255:
            return length, pos


def decompress(data: bytes, size: int) -> bytes:
    """Decompress a block to ``size`` bytes.  CubinError if the block is damaged or has another size."""
    out = bytearray()
    pos = 0
    end = len(data)
    try:
        while pos < end and len(out) <= size:
            token = data[pos]
            pos += 1
            literals = token >> 4
            if literals == 15:
                literals, pos = _extended(data, pos, literals)
            out += data[pos : pos + literals]
            pos += literals
            if pos >= end:
                break
            distance = data[pos] | data[pos + 1] << 8
            pos += 2
            length = token & 15
            if length == 15:
                length, pos = _extended(data, pos, length)
            length += 4
            start = len(out) - distance
            if distance == 0 or start < 0:
                raise CubinError(f"LZ4 block: distance {distance} at byte {pos} points before the data")
            if distance >= length:
                out += out[start : start + length]
            else:
                piece = bytes(out[start:])
                out += (piece * (length // distance + 1))[:length]
    except IndexError:
        raise CubinError(f"LZ4 block of {end} bytes is cut off") from None
    if len(out) != size:
        raise CubinError(f"LZ4 block gives {len(out)} bytes, not the {size} the entry states")
    return bytes(out)
