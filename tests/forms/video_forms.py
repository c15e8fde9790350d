"""Forms of the SIMD video instructions and of vmad, by the rules of the PTX manual."""

from collections.abc import Callable

from tests.forms.exact import to_signed
from tests.forms.form import Form
from tests.forms.integer_forms import COMPARE
from tests.forms.values import rng

OPS: dict[str, Callable[[int, int], int]] = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vavrg": lambda a, b: a + b + (1 if a + b >= 0 else 0) >> 1,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
}
SELECT = {2: ("h10", "h32", "h10"), 4: ("b3210", "b7654", "b3210")}


def lane(word: int, k: int, bits: int, type_: str) -> int:
    """Lane k of the bytes of a and b, by its type."""
    v = word >> k * bits & (1 << bits) - 1
    return to_signed(v, bits) if type_[0] == "s" else v


def video(
    name: str, lanes: int, types: tuple[str, str, str], cmp: str, mods: str, asel: str, bsel: str, mask: str
) -> Form:
    """One form; empty selections are the defaults."""
    bits = 32 // lanes
    full_a, full_b, full_m = SELECT[lanes]
    dtype, atype, btype = types
    f: Callable[[int, int], int] = OPS.get(name) or (lambda a, b: int(COMPARE[cmp](a, b)))

    def want(a: int, b: int, c: int) -> int:
        both = b << 32 | a
        result = c
        for k in map(int, (mask or full_m)[1:]):
            x = lane(both, int((asel or full_a)[-1 - k]), bits, atype)
            y = lane(both, int((bsel or full_b)[-1 - k]), bits, btype)
            t = f(x, y)
            if "sat" in mods:
                low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if dtype[0] == "s" else (0, (1 << bits) - 1)
                t = min(max(t, low), high)
            if "add" in mods:
                result += t
            else:
                m = (1 << bits) - 1
                result = result & ~(m << k * bits) | (t & m) << k * bits
        return result & 0xFFFFFFFF

    suffix = f"{dtype}.{atype}.{btype}{mods}" if name != "vset" else f"{atype}.{btype}.{cmp}{mods}"
    opcode = f"{name}{lanes}.{suffix}"
    dot = [f".{s}" if s else "" for s in (mask, asel, bsel)]
    body = f"{opcode} %o0{dot[0]}, %a0{dot[1]}, %a1{dot[2]}, %a2;"
    r = rng(body)
    edges = [0x00000000, 0x80008000, 0x7FFF7FFF, 0xFFFFFFFF, 0x80808080, 0x7F7F7F7F, 0x00010001]
    rows = [(r.choice(edges), r.choice(edges), r.getrandbits(32)) for _ in range(32)]
    rows += [tuple(r.getrandbits(32) for _ in range(3)) for _ in range(96)]
    return Form(f"{opcode}{''.join(dot)}", body, ["b32"] * 3, ["b32"], rows, want)


def multiply_add(types: tuple[str, str, str], mods: str, asel: str, bsel: str) -> Form:
    """One form of vmad: (a * b + c + 1 with .po) shifted right; the product is 64 bits wide."""
    part = {"": (0, 32), "b0": (0, 8), "b3": (24, 8), "h0": (0, 16), "h1": (16, 16)}
    shift = 7 if "shr7" in mods else 15 if "shr15" in mods else 0

    def factor(word: int, sel: str, type_: str) -> int:
        first, bits = part[sel]
        return lane(word >> first, 0, bits, type_)

    def want(a: int, b: int, c: int) -> int:
        total = factor(a, asel, types[1]) * factor(b, bsel, types[2]) + to_signed(c, 32) + ("po" in mods)
        return total >> shift & 0xFFFFFFFF

    dots = [f".{s}" if s else "" for s in (asel, bsel)]
    opcode = f"vmad.{'.'.join(types)}{mods}"
    body = f"{opcode} %o0, %a0{dots[0]}, %a1{dots[1]}, %a2;"
    r = rng(body)
    edges = [0x00000000, 0x80008080, 0x7FFF7FFF, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0x00010001]
    rows = [(r.choice(edges), r.choice(edges), r.choice(edges)) for _ in range(48)]
    rows += [tuple(r.getrandbits(32) for _ in range(3)) for _ in range(80)]
    return Form(f"{opcode}{''.join(dots)}", body, ["b32"] * 3, ["b32"], rows, want)


PARTS = {"": (0, 32), "b0": (0, 8), "b3": (24, 8), "h0": (0, 16), "h1": (16, 16)}


def scalar(name: str, types: tuple[str, str, str], mods: str, second: str, asel: str, bsel: str) -> Form:
    """vabsdiff, vmin, vmax, vshr: the result as a whole number is saturated, then combined with c."""
    dtype, atype, btype = types

    def part(word: int, sel: str, type_: str) -> int:
        first, bits = PARTS[sel]
        return lane(word >> first, 0, bits, type_)

    def want(a: int, b: int, c: int) -> int:
        x, y = part(a, asel, atype), part(b, bsel, btype)
        t = x >> (y & 31 if ".wrap" in mods else min(y, 32)) if name == "vshr" else OPS[name](x, y)
        if ".sat" in mods:
            t = max(-(1 << 31), min(t, (1 << 31) - 1)) if dtype == "s32" else max(0, min(t, (1 << 32) - 1))
        third = to_signed(c, 32) if dtype == "s32" else c
        combine: dict[str, Callable[[int, int], int]] = {"add": lambda p, q: p + q, "min": min, "max": max}
        return (combine[second](t, third) if second else t) & 0xFFFFFFFF

    opcode = ".".join([name, *types]) + mods + (f".{second}" if second else "")
    dots = [f".{s}" if s else "" for s in (asel, bsel)]
    body = f"{opcode} %o0, %a0{dots[0]}, %a1{dots[1]}{', %a2' if second else ''};"
    r = rng(body)
    edges = [0, 1, 5, 31, 32, 33, 0x80008080, 0x7FFF7FFF, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0xFFFFFFFE]
    rows = [(r.choice(edges), r.choice(edges), r.choice(edges)) for _ in range(80)]
    rows += [(r.getrandbits(32), r.getrandbits(32), r.getrandbits(32)) for _ in range(48)]
    return Form(f"{opcode}{''.join(dots)}", body, ["b32"] * 3, ["b32"], rows, want)


def whole_numbers() -> list[Form]:
    """Scalar forms whose results are beyond the destination's type or whose operands differ in sign."""
    out: list[Form] = []
    both = ("s32", "u32")
    for name in ("vabsdiff", "vmin", "vmax", "vshr"):
        for types in ((d, a, b) for d in both for a in both for b in both):
            dtype, atype, btype = types
            for mods in ("", ".sat"):
                for k, second in enumerate(("", "add", "min", "max")):
                    mixed, compared = atype != btype, second in ("min", "max")
                    if name == "vshr":
                        refused = btype == "s32" or (compared and bool(mods))
                    else:
                        wider = name == "vabsdiff" or (name == "vmin" and dtype == "u32")
                        refused = mixed and (
                            (compared and not mods and wider) or (name, mods, dtype) == ("vabsdiff", ".sat", "u32")
                        )
                    # Negative numbers and an unsigned c: ptxas and the PTX manual disagree.
                    negative = (
                        name != "vabsdiff" and dtype == "u32" and atype == "s32" and (not mixed or name == "vshr")
                    )
                    if refused or (negative and compared and not mods):
                        continue
                    asel, bsel = (("", ""), ("b3", "h1"), ("h0", ""), ("", "b0"))[(k + len(out)) % 4]
                    wrap = (".wrap" if len(out) % 2 else ".clamp") if name == "vshr" else ""
                    out.append(scalar(name, types, mods + wrap, second, asel, bsel))
    return out


def scalar_forms() -> list[Form]:
    """vmad: types, .po, scales (signed factors only) and parts."""
    out = []
    for types in (("s32", "s32", "s32"), ("u32", "s32", "s32"), ("u32", "u32", "u32"), ("s32", "u32", "s32")):
        scales = ("", ".shr7", ".shr15") if types[1:] == ("s32", "s32") else ("",)
        for scale in scales:
            for plus in ("", ".po"):
                for asel, bsel in (("", ""), ("b3", "h1"), ("h0", ""), ("", "b0")):
                    out.append(multiply_add(types, plus + scale, asel, bsel))
    return out


def forms() -> list[Form]:
    """Every operation with both lane counts; types, saturation, sums, selections and masks in turn."""
    out = []
    turn = 0
    for lanes in (2, 4):
        sel = ("", "h01", "h31", "h22") if lanes == 2 else ("", "b0123", "b7310", "b4444")
        masks = ("", "h1", "h0") if lanes == 2 else ("", "b20", "b3", "b321")
        for name in (*OPS, "vset"):
            for types in (("s32", "s32", "s32"), ("u32", "u32", "u32"), ("s32", "u32", "s32"), ("u32", "s32", "s32")):
                if types[1] != types[2] and name not in ("vadd", "vsub"):
                    continue
                for mods in ("", ".sat", ".add"):
                    if name == "vset" and mods == ".sat":
                        continue
                    turn += 1
                    cmp = ("lt", "eq", "ge", "ne", "gt", "le")[turn % 6]
                    out.append(
                        video(
                            name,
                            lanes,
                            types,
                            cmp,
                            mods,
                            sel[turn % 4],
                            sel[turn // 3 % 4],
                            masks[turn // 2 % len(masks)],
                        )
                    )
    return list({f.name: f for f in out + scalar_forms() + whole_numbers()}.values())
