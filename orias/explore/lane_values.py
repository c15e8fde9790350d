"""What is known of a 32-bit value in the 32 threads of a warp without running the code.

A :data:`Lanes` is either a :class:`Pattern` or the reason why there is none.  A pattern says that thread ``l`` holds
``U * 2**low + lanes[l]`` modulo ``2**32``, with one unknown ``U`` for the warp: a thread index is ``(5, 0..31)``, a value
that is the same in all threads ``(0, 0..0)``, a constant has ``low`` 32.  With ``rows`` it has in addition ``rows[l]`` times a number
that only the launch knows: a matrix whose row length is a parameter.
"""

from typing import Final, NamedTuple

WARP: Final = 32
_WORD: Final = (1 << 32) - 1
_EXACT: Final = 32


class Pattern(NamedTuple):
    """See above; ``lanes[0]`` is below ``2**low``; ``rows`` is empty or has a number for each thread, the first 0."""

    low: int
    lanes: tuple[int, ...]
    rows: tuple[int, ...] = ()

    @property
    def uniform(self) -> bool:
        """Whether all threads hold the same value."""
        return not self.rows and self.lanes.count(self.lanes[0]) == WARP

    @property
    def offsets(self) -> list[int]:
        """The lanes as signed numbers."""
        return [v - (1 << 32) if v >> 31 else v for v in self.lanes]


Lanes = Pattern | str

THREAD: Final = "thread"
"""Depends on the thread index, in a way that is no fixed distance between threads."""
STRIDE: Final = "stride"
"""The thread index and a number that only the launch knows."""
DATA: Final = "data"
"""Depends on what was loaded from memory."""
_REASONS: Final = (THREAD, STRIDE, DATA)

UNIFORM: Final = Pattern(0, (0,) * WARP)
INDEX: Final = tuple(range(WARP))


def pattern(low: int, lanes: list[int] | tuple[int, ...], rows: tuple[int, ...] = ()) -> Pattern:
    """The pattern in its normal form."""
    shift = lanes[0] >> low << low if low < _EXACT else 0
    return Pattern(low, tuple([(v - shift) & _WORD for v in lanes]), rows)


def exact(value: int) -> Pattern:
    """A constant."""
    return Pattern(_EXACT, (value & _WORD,) * WARP)


def worst(*values: Lanes) -> str:
    """The reason that says most why there is no pattern; ``thread`` for patterns alone."""
    found = [_REASONS.index(v if isinstance(v, str) else STRIDE if v.rows else THREAD) for v in values]
    return _REASONS[max(found, default=0)]


def constant(value: Lanes) -> int | None:
    """The number that all threads hold, if it is known."""
    return value.lanes[0] if isinstance(value, Pattern) and value.low == _EXACT and value.uniform else None


def added(a: Lanes, b: Lanes) -> Lanes:
    """The sum."""
    if isinstance(a, str) or isinstance(b, str):
        return worst(a, b)
    lanes = [x + y & _WORD for x, y in zip(a.lanes, b.lanes, strict=True)]
    if a.rows and b.rows:
        # Two unknown distances: threads are in one row only if they agree in both.
        numbers: dict[tuple[int, int], int] = {}
        rows = tuple([numbers.setdefault(pair, len(numbers)) for pair in zip(a.rows, b.rows, strict=True)])
        return pattern(0, lanes, rows)
    return pattern(min(a.low, b.low), lanes, a.rows or b.rows)


def negated(a: Lanes) -> Lanes:
    """The negative."""
    return a if isinstance(a, str) else pattern(a.low, [-x & _WORD for x in a.lanes], a.rows)


def multiplied(a: Lanes, b: Lanes) -> Lanes:
    """The low word of the product."""
    if isinstance(a, str) or isinstance(b, str):
        return worst(a, b)
    for x, y in ((a, b), (b, a)):
        factor = constant(y)
        if factor is not None:
            zeros = (factor & -factor).bit_length() - 1 if factor else _EXACT
            return pattern(min(_EXACT, x.low + zeros), [v * factor & _WORD for v in x.lanes], x.rows if factor else ())
    if a.uniform and b.uniform:
        return pattern(min(a.low, b.low), [a.lanes[0] * b.lanes[0] & _WORD] * WARP)
    if a.rows or b.rows or not (a.uniform or b.uniform):
        return STRIDE
    varying = b if a.uniform else a
    numbers: dict[int, int] = {}
    return Pattern(0, UNIFORM.lanes, tuple([numbers.setdefault(v, len(numbers)) for v in varying.lanes]))


def shifted_left(a: Lanes, count: Lanes) -> Lanes:
    """The low word of ``a << count``."""
    known = constant(count)
    if known is not None:
        return multiplied(a, exact(1 << known if known < _EXACT else 0))
    return multiplied(a, UNIFORM) if isinstance(count, Pattern) and count.uniform else worst(a, count)


def shifted_right(a: Lanes, count: Lanes) -> Lanes:
    """``a >> count``; a signed value counts as one that is not negative."""
    known = constant(count)
    if isinstance(a, str) or known is None:
        return UNIFORM if _all_uniform(a, count) else worst(a, count)
    if known <= a.low and _inside(a):
        low = a.low if a.low == _EXACT else a.low - known
        return pattern(low, [v >> known for v in a.lanes])
    return UNIFORM if a.uniform else worst(a)


def bitwise(operands: tuple[Lanes, Lanes, Lanes], table: int) -> Lanes:
    """LOP3: bit ``4*a + 2*b + c`` of `table`, for each bit of the operands."""
    used = [k for k in range(3) if _depends(table, 4 >> k)]
    bits: list[tuple[int, tuple[int, ...]]] = [(_EXACT, (0,) * WARP)] * 3
    for k in used:
        x = operands[k]
        if isinstance(x, str) or not _inside(x):
            return worst(*(operands[j] for j in used))
        bits[k] = x.low, x.lanes
    # The unknown parts as all zeros and all ones: the operation goes bit by bit, so these stand for every value.
    open_ = [k for k in range(3) if bits[k][0] < _EXACT]
    results: list[list[int]] = []
    for choice in range(1 << len(open_)):
        high = [0, 0, 0]
        for j, k in enumerate(open_):
            if choice >> j & 1:
                high[k] = _WORD >> bits[k][0] << bits[k][0]
        lanes = [[v | high[k] for v in bits[k][1]] for k in range(3)]
        results.append([_lookup(a, b, c, table) for a, b, c in zip(*lanes, strict=True)])
    differs = 0
    for other in results[1:]:
        for first, second in zip(results[0], other, strict=True):
            differs |= first ^ second
    low = (differs & -differs).bit_length() - 1 if differs else _EXACT
    if low < _EXACT and any(len({v >> low for v in r}) > 1 for r in results):
        return THREAD
    return pattern(low, results[0])


def _depends(table: int, step: int) -> bool:
    return any(not m & step and (table >> m & 1) != (table >> (m | step) & 1) for m in range(8))


def bits_reversed(a: Lanes) -> Lanes:
    """The bits in the opposite order."""
    if isinstance(a, Pattern) and a.low == _EXACT:
        return Pattern(_EXACT, tuple([int(f"{v:032b}"[::-1], 2) for v in a.lanes]))
    return UNIFORM if isinstance(a, Pattern) and a.uniform else worst(a)


def joined(a: Lanes, b: Lanes) -> Lanes:
    """What holds where two paths meet, for a warp that takes one of them."""
    if a == b:
        return a
    if isinstance(a, str) or isinstance(b, str):
        return worst(a, b)
    apart = {(x - y) & _WORD for x, y in zip(a.lanes, b.lanes, strict=True)}
    if len(apart) > 1 or a.rows != b.rows:
        return STRIDE if a.rows or b.rows else THREAD
    d = apart.pop()
    zeros = (d & -d).bit_length() - 1 if d else _EXACT
    return pattern(min(a.low, b.low, zeros), a.lanes, a.rows)


def _all_uniform(*values: Lanes) -> bool:
    return all(isinstance(v, Pattern) and v.uniform for v in values)


def _inside(a: Pattern) -> bool:
    """Whether no lane reaches into the unknown part."""
    return not a.rows and (a.low == _EXACT or max(a.lanes) < 1 << a.low)


def _lookup(a: int, b: int, c: int, table: int) -> int:
    out = 0
    for m in range(8):
        if table >> m & 1:
            out |= (a if m & 4 else ~a) & (b if m & 2 else ~b) & (c if m & 1 else ~c)
    return out & _WORD
