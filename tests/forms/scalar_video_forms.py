"""Forms of the scalar video instructions by the PTX manual; ptxas judges those where its own rules give the same.

Its rules are in docs/facts/arithmetic.md (scalar video instructions); here they are the functions called `theirs`.
"""

from itertools import product

from tests.forms.exact import to_signed
from tests.forms.form import Form
from tests.forms.integer_forms import COMPARE
from tests.forms.values import rng

MASK = 0xFFFFFFFF
PARTS = {
    "": (0, 32), "b0": (0, 8), "b1": (8, 8), "b2": (16, 8), "b3": (24, 8), "h0": (0, 16), "h1": (16, 16),
}  # fmt: skip
"""Parts of a register: first bit, bits."""
SOURCES = (("", ""), ("b3", "h1"), ("h0", ""), ("", "b0"))
EDGES = [0, 1, 5, 31, 32, 33, 0x80008080, 0x7FFF7FFF, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0xFFFFFFFE, 0xC0000000]
SIGNS = ("u32", "s32")


def number(word: int, bits: int, type_: str) -> int:
    """The low bits of a word as a number of a type."""
    word &= (1 << bits) - 1
    return to_signed(word, bits) if type_[0] == "s" else word


def part(word: int, select: str, type_: str) -> int:
    first, bits = PARTS[select]
    return number(word >> first, bits, type_)


def clamp(value: int, type_: str) -> int:
    low, high = (-(1 << 31), (1 << 31) - 1) if type_[0] == "s" else (0, MASK)
    return max(low, min(value, high))


def exact(name: str, wrap: str, x: int, y: int) -> int:
    """The result as a whole number."""
    if name in ("vshl", "vshr"):
        count = y & 31 if wrap == ".wrap" else min(y & MASK, 32)
        return x >> count if name == "vshr" else x << count
    if name == "vset":
        return int(COMPARE["lt"](x, y))
    return {"vadd": x + y, "vsub": x - y, "vabsdiff": abs(x - y), "vmin": min(x, y), "vmax": max(x, y)}[name]


def ours(name: str, sat: bool, op: str, place: str, value: int, c: int, dtype: str) -> int:
    """The manual: limit the number to the destination's type, combine it with c or insert it."""
    first, bits = PARTS[place]
    if sat:
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype[0] == "s" else (0, (1 << bits) - 1)
        value = max(low, min(value, high))
    if place:
        field = ((1 << bits) - 1) << first
        return c & ~field | value << first & field
    if op and (name in ("vadd", "vsub", "vshl") or dtype[0] == "u"):
        value = number(value, 32, dtype)
    third = number(c, 32, dtype)
    return {"": value, "add": value + third, "min": min(value, third), "max": max(value, third)}[op] & MASK


def theirs(name: str, sat: bool, op: str, place: str, value: int, c: int, dtype: str) -> int:
    """The same as ptxas 13.0.88 does it."""
    if sat and name == "vshl":
        value = number(value, 34, "s")
    if place:
        return inserted(name, sat, value, c, dtype, place) & MASK
    if sat:
        value = saturated(name, value, dtype)
    elif name in ("vadd", "vsub"):
        value = to_signed(value & MASK, 32)
    return combined(op, value, c, dtype) & MASK


def saturated(name: str, value: int, dtype: str) -> int:
    """The number that a second operation of ptxas sees: unsigned sums, differences and distances are not limited above."""
    if dtype[0] == "u" and name == "vabsdiff":
        return max(value, 0)
    if dtype[0] == "u" and name in ("vadd", "vsub"):
        return to_signed(max(value, 0) & MASK, 32)
    value = clamp(value, dtype)
    return value if name in ("vmin", "vmax") else to_signed(value & MASK, 32)


def combined(op: str, value: int, c: int, dtype: str) -> int:
    """The second operation of ptxas: comparisons are of 64 bits."""
    if op in ("", "add"):
        return value + c if op else value
    third = number(c, 32, dtype)
    key = value if dtype[0] == "s" else value & (1 << 64) - 1
    chosen = key < third if op == "min" else key > third
    return value if chosen else third


def inserted(name: str, sat: bool, value: int, c: int, dtype: str, place: str) -> int:
    """The result of ptxas in a part of c; h1 takes the high half of the result."""
    first, bits = PARTS[place]
    if sat and name in ("vshl", "vshr"):
        value = clamp(value, dtype)
    elif sat:
        value = min(value if 0 <= value <= MASK else MASK, (1 << (bits - (dtype[0] == "s"))) - 1)
    low = value >> 16 if place == "h1" else value
    field = ((1 << bits) - 1) << first
    return c & ~field | low << first & field


def scalar(
    name: str, types: tuple[str, ...], wrap: str, sat: bool, op: str, place: str, sources: tuple[str, str]
) -> Form:
    """One form of an instruction with two sources."""
    dtype, atype, btype = types if len(types) == 3 else ("u32", *types)
    their_dtype = atype if name == "vset" else dtype
    asel, bsel = sources

    def value(a: int, b: int) -> int:
        return exact(name, wrap, part(a, asel, atype), part(b, bsel, btype))

    def want(a: int, b: int, c: int) -> int:
        return ours(name, sat, op, place, value(a, b), c, dtype)

    words = ("" if name != "vset" else ".lt") + wrap + (".sat" if sat else "") + (f".{op}" if op else "")
    opcode = f"{name}{words}.{'.'.join(types)}"
    dots = [f".{s}" if s else "" for s in (place, asel, bsel)]
    body = f"{opcode} %o0{dots[0]}, %a0{dots[1]}, %a1{dots[2]}{', %a2' if op or place else ''};"
    inputs = rows(body)

    def judged() -> bool:
        return all(want(*row) == theirs(name, sat, op, place, value(*row[:2]), row[2], their_dtype) for row in inputs)

    return Form(f"{opcode}{''.join(dots)}", body, ["b32"] * 3, ["b32"], inputs, want, judged=judged)


def rows(seed: str) -> list[tuple[int, int, int]]:
    r = rng(seed)
    found = [(r.choice(EDGES), r.choice(EDGES), r.choice(EDGES)) for _ in range(80)]
    return found + [(r.getrandbits(32), r.getrandbits(32), r.getrandbits(32)) for _ in range(48)]


def multiply_add(types: tuple[str, ...], words: str, signs: tuple[str, str, str], sources: tuple[str, str]) -> Form:
    """One form of vmad: the product plus c, and 1 with .po, shifted right, saturated; ptxas multiplies signed words."""
    atype, btype = types[1:]
    asel, bsel = sources
    shift = 7 if "shr7" in words else 15 if "shr15" in words else 0
    minus, minus_c = signs[0] != signs[1], bool(signs[2])
    signed = "s" in atype[0] + btype[0] or minus or minus_c

    def result(product: int, third: int, their: bool) -> int:
        total = (-product if minus else product) + (-third if minus_c else third) + ("po" in words)
        if shift:
            total = (total & (1 << 64) - 1 if their and not signed else total) >> shift
        return (clamp(total, "s32" if signed else "u32") if "sat" in words else total) & MASK

    def want(a: int, b: int, c: int) -> int:
        return result(part(a, asel, atype) * part(b, bsel, btype), number(c, 32, "s" if signed else "u"), False)

    def their_want(a: int, b: int, c: int) -> int:
        x, y = to_signed(part(a, asel, atype) & MASK, 32), to_signed(part(b, bsel, btype) & MASK, 32)
        return result(x * y, to_signed(c, 32), True)

    opcode = f"vmad{words}.{'.'.join(types)}"
    dots = [f".{s}" if s else "" for s in sources]
    body = f"{opcode} %o0, {signs[0]}%a0{dots[0]}, {signs[1]}%a1{dots[1]}, {signs[2]}%a2;"
    inputs = rows(body)

    def judged() -> bool:
        return all(want(*row) == their_want(*row) for row in inputs)

    title = f"{opcode}{''.join(dots)}{''.join(s or '+' for s in signs)}"
    return Form(title, body, ["b32"] * 3, ["b32"], inputs, want, judged=judged)


def scalar_forms() -> list[Form]:
    """All instructions, types and second operations; sources in turn, parts as destinations."""
    found: list[Form] = []
    for name in ("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset"):
        shift = name in ("vshl", "vshr")
        for types in product(SIGNS, repeat=2 if name == "vset" else 3):
            if shift and types[2] == "s32":
                continue
            for sat in (False, True)[: 1 if name == "vset" else 2]:
                for op in ("", "add", "min", "max"):
                    wrap = (".clamp", ".wrap")[len(found) % 2] if shift else ""
                    found.append(scalar(name, types, wrap, sat, op, "", SOURCES[len(found) // 3 % 4]))
                wrap = ".clamp" if shift else ""
                place = list(PARTS)[1 + len(found) % 6]
                found.append(scalar(name, types, wrap, sat, "", place, ("", "")))
    for types in product(SIGNS, repeat=3):
        for sat, scale in product(("", ".sat"), ("", ".shr7", ".shr15")):
            signs = (("", "", ""), ("-", "", ""), ("", "", "-"), ("-", "-", ""))[len(found) % 4]
            found.append(multiply_add(types, sat + scale, signs, SOURCES[len(found) // 3 % 4]))
            found.append(multiply_add(types, sat + scale + ".po", ("", "", ""), SOURCES[len(found) // 5 % 4]))
    return found
