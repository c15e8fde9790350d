"""Input values: the special ones of each type and a few random ones, always the same."""

import random
from itertools import product

from tests.forms.exact import FMT

_FRACTIONS = {"f16": 0x155, "bf16": 0x2B, "f32": 0x2AAAAB, "f64": 0x5555555555555}


def ints(bits: int) -> list[int]:
    """Edges of an integer type as patterns."""
    top = 1 << bits
    mid = top >> 1
    out = [
        0,
        1,
        2,
        3,
        7,
        100 % top,
        mid - 1,
        mid,
        mid + 1,
        top - 1,
        top - 2,
        top // 3,
        1 << (bits // 2),
        (1 << (bits // 2)) - 1,
    ]
    return list(dict.fromkeys(x % top for x in out))


def floats(type_: str) -> list[int]:
    """Special values of a float type, both signs of the main ones."""
    f = FMT[type_]
    out = [
        0, f.sign, 1, f.sign | 3, f.min_normal - 1, f.min_normal, f.sign | f.min_normal, f.one, f.sign | f.one, f.one + 1, f.one - 1,
        f.one + (1 << f.m), f.sign | f.one - (1 << f.m), f.max, f.sign | f.max, f.inf, f.sign | f.inf, f.nan, f.inf | 1,
        f.one | _FRACTIONS[type_], f.one + (5 << f.m) | _FRACTIONS[type_], f.sign | f.one - (3 << f.m) | _FRACTIONS[type_],
    ]  # fmt: skip
    return list(dict.fromkeys(out))


def rng(name: str) -> random.Random:
    """A generator that depends on the form's name alone."""
    return random.Random(name)


def pairs(values: list[int], bits: int, name: str, limit: int = 128, count: int = 2) -> list[tuple[int, ...]]:
    """Tuples of special values (all, or a sample) and random ones: at most `limit`."""
    r = rng(name)
    every = list(product(values, repeat=count)) if len(values) ** count <= 4096 else []
    want = limit - limit // 4
    if every:
        picked = every if len(every) <= want else r.sample(every, want)
    else:
        picked = [tuple(r.choice(values) for _ in range(count)) for _ in range(want)]
    while len(picked) < limit:
        row = tuple(r.getrandbits(bits) if r.random() < 0.7 else r.choice(values) for _ in range(count))
        picked.append(row)
    return picked


def float_rows(type_: str, count: int, name: str, limit: int = 128) -> list[tuple[int, ...]]:
    """Rows of float inputs; the random ones lie near each other in exponent, so that sums and products interact."""
    f = FMT[type_]
    r = rng(name)
    rows = pairs(floats(type_), f.bits, name, limit * 3 // 4, count)
    while len(rows) < limit:
        e = r.randrange(1, (1 << f.e) - 1)
        row = []
        for _ in range(count):
            k = min(max(e + r.randrange(-3, 4), 0), (1 << f.e) - 2)
            row.append(r.getrandbits(1) * f.sign | k << f.m | r.getrandbits(f.m))
        rows.append(tuple(row))
    return rows
