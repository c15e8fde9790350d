"""Forms of the SIMD video instructions, by the rules of the PTX manual, and of the scalar ones."""

from collections.abc import Callable

from tests.forms.exact import to_signed
from tests.forms.form import Form
from tests.forms.integer_forms import COMPARE
from tests.forms.scalar_video_forms import scalar_forms
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
    return list({f.name: f for f in out + scalar_forms()}.values())
