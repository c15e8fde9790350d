"""Values of a launch as text: sizes, scalars, buffers (the notation is in :mod:`orias.cli.run_command`)."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Arr = npt.NDArray[Any]

_TYPES: Final[dict[str, np.dtype[Any]]] = {
    "u8": np.dtype(np.uint8), "s8": np.dtype(np.int8), "u16": np.dtype(np.uint16), "s16": np.dtype(np.int16),
    "u32": np.dtype(np.uint32), "s32": np.dtype(np.int32), "u64": np.dtype(np.uint64), "s64": np.dtype(np.int64),
    "f16": np.dtype(np.float16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
}  # fmt: skip


class UsageError(Exception):
    """The command line is wrong."""


def dims(text: str) -> tuple[int, ...]:
    """One to three sizes, ``X[,Y[,Z]]``."""
    try:
        d = tuple(int(x, 0) for x in text.split(","))
    except ValueError:
        raise UsageError(f"'{text}' is not a size X[,Y[,Z]]") from None
    if not 1 <= len(d) <= 3 or min(d) < 1:
        raise UsageError(f"'{text}' is not a size X[,Y[,Z]]")
    return d


def integer(text: str, what: str) -> int:
    """A whole number; `what` names it in the message."""
    try:
        return int(text, 0)
    except ValueError:
        raise UsageError(f"{what}: '{text}' is not a number") from None


def _number(text: str, t: np.dtype[Any]) -> Any:
    try:
        if t.kind == "f":
            v = float.fromhex(text) if "0x" in text.lower() else float(text)
            return t.type(v)
        v = int(text, 0)
    except (ValueError, OverflowError):
        raise UsageError(f"'{text}' is no value of type {type_name(t)}") from None
    bits = 8 * t.itemsize
    if not -(1 << (bits - 1)) <= v < 1 << bits:
        raise UsageError(f"{text} does not fit {type_name(t)}")
    return np.array([v & ((1 << bits) - 1)], f"u{t.itemsize}").view(t)[0]


def type_name(t: np.dtype[Any]) -> str:
    """The name of an element type, such as ``f32``."""
    return next(k for k, v in _TYPES.items() if v == t)


def _type(text: str) -> np.dtype[Any]:
    t = _TYPES.get(text)
    if t is None:
        raise UsageError(f"unknown type '{text}'; there are {' '.join(_TYPES)}")
    return t


def _buffer(rest: str, most: int) -> Arr:
    type_text, _, shape = rest.partition(":")
    t = _type(type_text)
    if shape.startswith("@"):
        try:
            with open(shape[1:], "rb") as f:
                raw = f.read()
        except OSError as e:
            raise UsageError(f"{shape[1:]}: {e.strerror}") from None
        if len(raw) % t.itemsize:
            raise UsageError(f"{shape[1:]}: {len(raw)} bytes are no whole number of {type_text}")
        return np.frombuffer(raw, t).copy()
    count_text, _, init = shape.partition("=")
    n = integer(count_text, "buffer")
    if not 0 <= n * t.itemsize <= most:
        raise UsageError(f"a buffer of {n} elements")
    if init in ("", "zeros"):
        return np.zeros(n, t)
    if init == "ones":
        return np.ones(n, t)
    if init == "iota":
        return np.arange(n).astype(t)
    if init == "random":
        rng = np.random.default_rng(0)
        return (
            rng.standard_normal(n).astype(t)
            if t.kind == "f"
            else rng.integers(0, 256, n * t.itemsize, np.uint8).view(t)
        )
    values = [_number(x, t) for x in init.split(";")]
    if len(values) == 1:
        return np.full(n, values[0], t)
    if len(values) != n:
        raise UsageError(f"{len(values)} values for {n} elements")
    return np.array(values, t)


def arguments(texts: list[str], most: int = 1 << 33) -> list[Any]:
    """The arguments of a launch: numpy scalars and arrays, and bytes; UsageError names the text that is none.

    `most`: bytes of a buffer.
    """
    out: list[Any] = []
    for text in texts:
        kind, sep, rest = text.partition(":")
        if not sep:
            raise UsageError(f"argument '{text}': expected TYPE:VALUE or buf:TYPE:COUNT")
        if kind == "buf":
            out.append(_buffer(rest, most))
        elif kind == "same":
            n = integer(rest, "same")
            if not 0 <= n < len(out) or not isinstance(out[n], np.ndarray):
                raise UsageError(f"same:{n}: argument {n} is no buffer")
            out.append(out[n])
        elif kind == "hex":
            try:
                out.append(bytes.fromhex(rest))
            except ValueError:
                raise UsageError(f"'{rest}' is no string of hexadecimal bytes") from None
        else:
            out.append(_number(rest, _type(kind)))
    return out
