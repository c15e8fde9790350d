"""Known faults of ptxas 13.0.88 (``tests/oracle_faults``), and a rewrite of programs that avoids each of them.

A rewrite keeps the meaning of a program.  If ptxas agrees with Orias on the rewritten program but not on the original,
that fault is the likely reason (a rewrite may avoid others too: some hide more than the fault needs).  If ptxas still
disagrees, the difference is new.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

_ZERO: Final = "%around_z"
_SPARE: Final = "%around_t"
_HALF: Final = "%around_h"
_LONG: Final = "%around_d"
_OTHER: Final = "%around_e"
_FIRST: Final = "%around_p"
_SECOND: Final = "%around_q"
_THIRD: Final = "%around_r"
_DECLARED: Final = (
    f" .reg .b32 {_ZERO}, {_SPARE}; .reg .b16 {_HALF}; .reg .b64 {_LONG}, {_OTHER};"
    f" .reg .pred {_FIRST}, {_SECOND}, {_THIRD}; mov.u32 {_ZERO}, %tid.y; "
)
"""A zero that no compiler knows (blocks of the random programs are one thread high), and spare registers; each rewritten
instruction uses them for itself only."""
_BODY: Final = re.compile(r"(\.(?:entry|func)\b[^{;]*\{)")
_SKIP: Final = "AROUND_"

Rewrite = Callable[[re.Match[str], int], str]


def _branch(m: re.Match[str], n: int) -> str:
    """A guarded instruction: a branch around it."""
    guard = m["guard"]
    return f"@{guard[1:] if guard.startswith('!') else '!' + guard} bra {_SKIP}{n}; {m['rest']}; {_SKIP}{n}:"


def _two_steps(m: re.Match[str], _: int) -> str:
    """A video instruction with a second operation: two instructions."""
    guard, kind = m["guard"] or "", m["kind"]
    return f"{guard}{m['op']} {_SPARE}, {m['a']}, {m['b']}; {guard}{m['second']}.{kind} {m['d']}, {_SPARE}, {m['c']};"


def _other_name(m: re.Match[str], _: int) -> str:
    """min(x, x): the second x through an unknown zero."""
    return f"cvt.u16.u32 {_HALF}, {_ZERO}; or.b16 {_HALF}, {_HALF}, {m['x']}; {m['head']} {m['x']}, {_HALF};"


def _other_pair(m: re.Match[str], _: int) -> str:
    return f"or.b32 {_SPARE}, {_ZERO}, {m['x']}; {m['head']} {m['x']}, {_SPARE};"


def _hidden(m: re.Match[str], _: int) -> str:
    """A number, hidden from the compiler."""
    return f"or.b32 {_SPARE}, {_ZERO}, {m['x']}; {m['head']}{_SPARE}{m['tail']};"


def _hidden_long(spare: str) -> Rewrite:
    """A 64-bit number, hidden from the compiler; each of an instruction's two has a spare register of its own."""

    def rewrite(m: re.Match[str], _: int) -> str:
        whole = f"mov.b64 {spare}, {{{_ZERO}, {_ZERO}}}; or.b64 {spare}, {spare}, {m['x']};"
        return f"{whole} {m['head']}{spare}{m['tail']};"

    return rewrite


def _hidden_pair(m: re.Match[str], _: int) -> str:
    """An instruction whose 64-bit result is hidden from the compiler."""
    return f"mov.b64 {_LONG}, {{{_ZERO}, {_ZERO}}}; {m[0]} {m['guard'] or ''}or.b64 {m['d']}, {m['d']}, {_LONG};"


def _difference(m: re.Match[str], _: int) -> str:
    """A negation as a difference."""
    return f"{m['guard'] or ''}sub.s32 {m['d']}, {_ZERO}, {m['x']};"


def _is_zero(m: re.Match[str], _: int) -> str:
    """cnot by a comparison: ptxas makes it the negation of a mask."""
    return f"setp.eq.u32 {_FIRST}, {m['x']}, 0; {m['guard'] or ''}selp.u32 {m['d']}, 1, 0, {_FIRST};"


def _magnitude(m: re.Match[str], _: int) -> str:
    """The larger of a number and its negation, computed with an unknown zero."""
    guard, bits, d, x = m["guard"] or "", m["bits"], m["d"], m["x"]
    spare, zero = {
        "16": (_HALF, f"{guard}cvt.u16.u32 {_HALF}, {_ZERO}; "),
        "32": (_SPARE, f"{guard}mov.b32 {_SPARE}, {_ZERO}; "),
        "64": (_LONG, f"{guard}cvt.u64.u32 {_LONG}, {_ZERO}; "),
    }[bits]
    return f"{zero}{guard}sub.s{bits} {spare}, {spare}, {x}; {guard}max.s{bits} {d}, {x}, {spare};"


def _apart(m: re.Match[str], _: int) -> str:
    """A comparison combined with a predicate: two separate instructions."""
    guard, logic, c = m["guard"] or "", m["logic"], m["c"].strip()
    out = [f"setp.{m['cmp']}.ftz.f32 {_FIRST}, {m['a']}, {m['b']};"]
    out.append(f"not.pred {_SECOND}, {c[1:]};" if c.startswith("!") else f"mov.pred {_SECOND}, {c};")
    out.append(f"not.pred {_THIRD}, {_FIRST}; {logic}.pred {_THIRD}, {_THIRD}, {_SECOND};")
    out.append(f"{logic}.pred {_FIRST}, {_FIRST}, {_SECOND};")
    results = [(m["d"], _FIRST), (m["e"], _THIRD)] if m["e"] else [(m["d"], _FIRST)]
    # write the result that the guard depends on last
    results.sort(key=lambda r: guard.strip().lstrip("@!") == r[0])
    return " ".join([*out, *(f"{guard}mov.pred {name}, {value};" for name, value in results)])


def _unknown(met: str) -> Rewrite:
    """A branch on a predicate `p` that other code of the program (the pattern `met`) also uses: branches on an equal predicate that
    the compiler knows nothing about."""

    def rewrite(m: re.Match[str], _: int) -> str:
        p = m["p"]
        start = max((b.end() for b in _BODY.finditer(m.string, 0, m.start())), default=0)
        end = next((b.start() for b in _BODY.finditer(m.string, m.end())), len(m.string))
        if not re.search(met.replace("P", p), m.string[start:end], re.DOTALL):
            return m[0]
        known = f"selp.u32 {_SPARE}, 1, 0, {p}; or.b32 {_SPARE}, {_SPARE}, {_ZERO}; setp.ne.u32 {_FIRST}, {_SPARE}, 0;"
        return f"{known} @{m['negation']}{_FIRST} bra {m['label']};"

    return rewrite


def _together(m: re.Match[str], _: int) -> str:
    """Before an operation of the whole warp or block: a barrier for a mask that the compiler does not know to be full."""
    return f"or.b32 {_SPARE}, {_ZERO}, 0xffffffff; bar.warp.sync {_SPARE}; {m[0]}"


def _wide_sum(m: re.Match[str], _: int) -> str:
    """A saturated sum, computed in 64 bits; its use, if any, does not change."""
    guard, left, right = m["guard"] or "", m["left"], m["right"]
    out = []
    for long, type_, x in ((_LONG, left, m["a"]), (_OTHER, right, m["b"])):
        out.append(f"vadd.{type_}.{type_}.{type_} {_SPARE}, {x}, 0; cvt.s64.{type_} {long}, {_SPARE};")
    out.append(
        f"add.s64 {_LONG}, {_LONG}, {_OTHER}; max.s64 {_LONG}, {_LONG}, 0; min.s64 {_LONG}, {_LONG}, 4294967295;"
    )
    out.append(f"cvt.u32.u64 {_SPARE}, {_LONG};")
    if m["c"]:
        out.append(f"{guard}vadd.u32.u32.u32{m['second']} {m['d']}, {_SPARE}, 0, {m['c']};")
    else:
        out.append(f"{guard}mov.b32 {m['d']}, {_SPARE};")
    return " ".join(out)


_G: Final = r"(?P<guard>@!?%\w+\s+)?"
_BRANCH: Final = re.compile(r"@(?P<negation>!?)(?P<p>%\w+)\s+bra\s+(?P<label>[\w$]+)\s*;")
FAULTS: Final[dict[str, list[tuple[re.Pattern[str], Rewrite]]]] = {
    "guarded_testp": [(re.compile(r"@(?P<guard>!?%\w+)\s+(?P<rest>testp\.[^;]*);"), _branch)],
    "guarded_set": [(re.compile(r"@(?P<guard>!?%\w+)\s+(?P<rest>set\.[^;]*);"), _branch)],
    "vadd_sat": [
        (
            re.compile(
                _G + r"vadd\.u32\.(?P<left>[us]32)\.(?P<right>[us]32)\.sat(?P<second>\.\w+)?\s+"
                r"(?P<d>%\w+),\s*(?P<a>[^,;]+),\s*(?P<b>[^,;]+)(?:,\s*(?P<c>[^,;]+))?;"
            ),
            _wide_sum,
        )
    ],
    "ftz_branch": [
        (
            re.compile(
                _G + r"setp\.(?P<cmp>\w+)\.(?P<logic>and|or|xor)\.ftz\.f32\s+(?P<d>%\w+)(?:\|(?P<e>%\w+))?,"
                r"\s*(?P<a>[^,;]+),\s*(?P<b>[^,;]+),(?P<c>[^,;]+);"
            ),
            _apart,
        )
    ],
    "unpacked_load": [(re.compile(r"(?P<head>" + _G + r"mov\.b32 \{[^}]*\},\s*)(?P<x>%\w+)(?P<tail>)\s*;"), _hidden)],
    "loop_exit": [(_BRANCH, _unknown(r"@!?P\s+bra\b.*@!?P\s+bra\b"))],
    "counter_wraps": [
        (
            re.compile(r"(?P<head>" + _G + r"(?:add|sub)\.[us]32 (?P<d>%\w+),\s*(?P=d),\s*)(?P<x>-?\d+)(?P<tail>)\s*;"),
            _hidden,
        )
    ],
    "mad_chain": [
        (re.compile(r"(?P<head>" + _G + r"mad\.lo\.[us]64 %\w+,\s*)(?P<x>\d+)(?P<tail>,[^;]+);"), _hidden_long(_LONG)),
        (
            re.compile(r"(?P<head>" + _G + r"mad\.lo\.[us]64 %\w+,\s*%\w+,\s*)(?P<x>\d+)(?P<tail>,[^;]+);"),
            _hidden_long(_OTHER),
        ),
    ],
    "packed_fusion": [
        (re.compile(_G + r"mul\.\w+(?:\.ftz)?\.f32x2 (?P<d>%\w+),[^;]+;"), _hidden_pair),
    ],
    "packed_product": [
        (
            re.compile(r"(?P<head>" + _G + r"fma\.\w+(?:\.ftz)?\.f32x2 %\w+,\s*)(?P<x>[%\w]+)(?P<tail>,[^;]+);"),
            _hidden_long(_LONG),
        )
    ],
    "abs_sign": [(re.compile(_G + r"abs\.s(?P<bits>16|32|64)\s+(?P<d>%\w+),\s*(?P<x>[^,;]+);"), _magnitude)],
    "vsub_max": [
        (
            re.compile(
                _G
                + r"(?P<op>v(?:add|sub|absdiff|min|max|shl|shr)\.(?P<kind>[us]32)\.[us]32\.[us]32(?:\.sat|\.wrap|\.clamp)*)"
                r"\.(?P<second>min|max)\s+(?P<d>%\w+),\s*(?P<a>[^,;]+),\s*(?P<b>[^,;]+),\s*(?P<c>[^,;]+);"
            ),
            _two_steps,
        )
    ],
    "minmax_same": [
        (re.compile(r"(?P<head>" + _G + r"(?:min|max)\.[\w.]*f16 %\w+,)\s*(?P<x>%\w+),\s*(?P=x);"), _other_name),
        (re.compile(r"(?P<head>" + _G + r"(?:min|max)\.[\w.]*f16x2 %\w+,)\s*(?P<x>%\w+),\s*(?P=x);"), _other_pair),
    ],
    "repeated_lop3": [
        (
            re.compile(r"(?P<head>" + _G + r"lop3\.b32 %\w+,\s*)(?P<x>%\w+)(?P<tail>,[^;]*,\s*(?P=x)\s*,[^;]+);"),
            _hidden,
        ),
    ],
    "clamp_sum": [
        (
            re.compile(r"(?P<head>" + _G + r"max(?:\.ftz)?\.f32 %\w+,\s*)(?P<x>%\w+)(?P<tail>,\s*0f00000000)\s*;"),
            _hidden,
        )
    ],
    "add_rotate, sub_rotate": [
        (re.compile(r"(?P<head>" + _G + r"sh[lr]\.[bus]64 %\w+,\s*[^,;]+,\s*)(?P<x>\d+)(?P<tail>)\s*;"), _hidden)
    ],
    "bfe_position": [
        (re.compile(r"(?P<head>" + _G + r"bfe\.s\d+ %\w+,\s*[^,;]+,\s*)(?P<x>[%\w]+)(?P<tail>,[^,;]+);"), _hidden)
    ],
    "bfe_uniform": [
        (re.compile(r"(?P<head>" + _G + r"bfe\.[us]32 %\w+,\s*)(?P<x>%\w+)(?P<tail>,[^;]+);"), _hidden),
    ],
    "loop_negation": [(_BRANCH, _unknown(r"\.pred\s+P,[^;]*P\b"))],
    "bfi_length": [
        (
            re.compile(r"(?P<head>" + _G + r"bfi\.b\d+ %\w+,\s*[^,;]+,[^,;]+,[^,;]+,\s*)(?P<x>\w+)(?P<tail>)\s*;"),
            _hidden,
        )
    ],
    "minmax_negation": [
        (re.compile(_G + r"neg\.s32 (?P<d>%\w+),\s*(?P<x>[^,;]+);"), _difference),
        (re.compile(_G + r"cnot\.b32 (?P<d>%\w+),\s*(?P<x>[^,;]+);"), _is_zero),
    ],
    "byte_conversion": [
        (re.compile(r"(?P<head>" + _G + r"cvt\.(?:\w+\.)*f\d+\.u32 %\w+,\s*)(?P<x>%\w+)(?P<tail>)\s*;"), _hidden)
    ],
    "byte_saturation": [
        (re.compile(r"(?P<head>" + _G + r"cvt\.sat\.\w+\.u32 %\w+,\s*)(?P<x>%\w+)(?P<tail>)\s*;"), _hidden)
    ],
    "add_sat": [
        (
            re.compile(r"(?P<head>" + _G + r"(?:add|sub)\.sat\.s32 %\w+,\s*)(?P<x>[^,;]+)(?P<tail>,[^;]+);"),
            _hidden,
        )
    ],
    "missing_break": [
        (
            re.compile(
                r"(?:@!?%\w+\s+)?\b(?:wmma|mma|ldmatrix|stmatrix|movmatrix|bar|barrier)(?:\.cta)?\.(?:sync|red|load|store|mma)\b"
            ),
            _together,
        )
    ],
    "szext_parameter": [
        (re.compile(r"(?P<head>" + _G + r"szext\.[\w.]+ %\w+,\s*[^,;]+,\s*)(?P<x>[%\w]+)(?P<tail>)\s*;"), _hidden)
    ],
}
"""Name of the proof in tests/oracle_faults -> replacements of its instructions."""


def around(text: str, faults: Iterable[str]) -> str:
    """The program rewritten to avoid some faults; the same text if it has none of their instructions."""
    count = 0
    for pattern, rewrite in [row for f in faults for row in FAULTS[f]]:

        def written(m: re.Match[str], rewrite: Rewrite = rewrite) -> str:
            nonlocal count
            other = rewrite(m, count + 1)
            count += other != m[0]
            return other

        text = pattern.sub(written, text)
    return _BODY.sub(rf"\1{_DECLARED}", text) if count else text


def ways_around(text: str) -> Iterator[tuple[str, str]]:
    """(name of a fault, program that avoids it) for each fault that a program may trigger; finally one that avoids them all."""
    ways = {fault: other for fault in FAULTS if (other := around(text, [fault])) != text}
    yield from ways.items()
    if len(ways) > 1:
        yield " or ".join(ways), around(text, ways)
