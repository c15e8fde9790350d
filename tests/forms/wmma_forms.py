"""Forms of wmma and of the matrix loads and stores.

A fragment of wmma has no documented layout, so a form loads A, B and C from memory, multiplies and stores D; ldmatrix, stmatrix and
movmatrix have one, so their forms look at registers.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Final

from tests.forms.form import Form, Outputs
from tests.forms.matrix_exact import BITS, elements_a
from tests.forms.matrix_forms import combine, draw
from tests.forms.values import rng

Rows = Sequence[tuple[int, ...]]
Matrix = dict[tuple[int, int], int]
_TALL = ("m16n16k16", "m32n8k16", "m8n32k16")
_TYPES: list[tuple[str, tuple[str, ...], int]] = [
    # types D.A.B.C, shapes, first SM
    ("f32.f16.f16.f32", _TALL, 75), ("f16.f16.f16.f16", _TALL, 75), ("f32.f16.f16.f16", _TALL, 75), ("f16.f16.f16.f32", _TALL, 75),
    ("f32.bf16.bf16.f32", _TALL, 80), ("f32.tf32.tf32.f32", ("m16n16k8",), 80), ("f64.f64.f64.f64", ("m8n8k4",), 80),
    ("s32.s8.s8.s32", _TALL, 75), ("s32.u8.u8.s32", _TALL, 75), ("s32.s4.s4.s32", ("m8n8k32",), 75),
    ("s32.u4.u4.s32", ("m8n8k32",), 75), ("s32.b1.b1.s32", ("m8n8k128",), 75),
]  # fmt: skip
_AREA = 8192
"""Bytes of scratch memory for each of A, B, C and D."""


def _numbers(shape: str) -> tuple[int, int, int]:
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def _bytes(elements: list[int], bits: int) -> bytes:
    total = sum(x << bits * j for j, x in enumerate(elements))
    return total.to_bytes((len(elements) * bits + 7) // 8, "little")


def _laid(matrix: dict[tuple[int, int], int], rows: int, columns: int, layout: str, ld: int, bits: int) -> bytes:
    """The matrix in memory with leading dimension `ld`; gaps are zero."""
    if layout == "row":
        return _bytes([matrix.get((i, j), 0) for i in range(rows) for j in range(ld)], bits)
    return _bytes([matrix.get((i, j), 0) for j in range(columns) for i in range(ld)], bits)


def _per_lane(elements: int, bits: int) -> int:
    """How many inputs :func:`_slots` gives each of 32 lanes."""
    return -(-elements * bits // (64 * 32))


def _slots(data: bytes, lanes: int) -> list[tuple[int, ...]]:
    """The bytes as 64-bit inputs, the same number for each lane."""
    per = -(-len(data) // (8 * lanes))
    data = data.ljust(per * lanes * 8, b"\0")
    words = [int.from_bytes(data[o : o + 8], "little") for o in range(0, len(data), 8)]
    return [tuple(words[lane * per : (lane + 1) * per]) for lane in range(lanes)]


def _fill(first: int, count: int, area: str) -> str:
    """Copies `count` inputs from number `first` to the lane's part of an area."""
    return "\n".join(
        [f"mul.lo.u32 %x1, %idx, {8 * count}; add.u32 %x1, %x1, {area};"]
        + [f"st.shared.b64 [%x1+{8 * j}], %a{first + j};" for j in range(count)]
    )


def _pointer(area: str, space: str) -> str:
    """The address of a shared area in a space (global: it has been copied there); %p is set to it."""
    if space.startswith("shared"):
        return f"mov.u32 %x2, {area};"
    if space == "":
        return f"mov.u32 %x2, {area}; cvt.u64.u32 %q2, %x2; cvta.shared.u64 %q2, %q2;"
    return ""


class _Program:
    """The body of a form that computes D = A B + C out of shared memory (or of the global scratch memory)."""

    def __init__(self, space: str) -> None:
        self.space = space
        self.lines: list[str] = []

    def address(self, area: str) -> str:
        """Brings an area to where the instruction wants it; the operand."""
        if self.space == "global":
            self.lines.append(f"add.u64 %q2, %q3, {8192 * 'abcd'.index(area[-1])};")
            return "[%q2]"
        self.lines.append(_pointer(area, self.space))
        return "[%x2]" if self.space.startswith("shared") else "[%q2]"


def _wmma(
    shape: str,
    row: str,
    sm: int,
    al: str,
    bl: str,
    cl: str,
    space: str,
    kind: str,
    stride: str,
    rnd: str = "",
    mod: str = "",
    sat: bool = False,
) -> Form:
    d, a, b, c = row.split(".")
    m, n, k = _numbers(shape)
    name = f"wmma.{shape}.{row}.{al}.{bl}.{cl}.{space or 'generic'}.{kind}.{stride}{rnd}{mod}{'.sat' if sat else ''}"
    if d == c == "f16":
        # sm_75 sums in two steps: the first must not overflow.
        kind = "plain"
    exclusive = mod == ".xor.popc"
    extra = {"tight": 0, "wide": max(8, 128 // BITS[a]), "const": max(8, 128 // BITS[a]), "none": 0}[stride]
    more = {"tight": 0, "wide": 8, "const": 8, "none": 0}[stride]
    lda = (k if al == "row" else m) + extra
    ldb = (n if bl == "row" else k) + extra
    ldc = (n if cl == "row" else m) + more
    counts = [
        _per_lane(lda * (m if al == "row" else k), BITS[a]),
        _per_lane(ldb * (k if bl == "row" else n), BITS[b]),
        _per_lane(ldc * (m if cl == "row" else n), BITS[c]),
    ]

    @functools.cache
    def inputs() -> tuple[Matrix, Matrix, Matrix]:
        r = rng(name)
        x = {(i, j): draw(a, kind)(r) for i in range(m) for j in range(k)}
        y = {(i, j): draw(b, kind)(r) for i in range(k) for j in range(n)}
        z = {(i, j): draw(c, kind)(r) for i in range(m) for j in range(n)}
        return x, y, z

    def rows() -> Rows:
        x, y, z = inputs()
        areas = [
            _slots(_laid(x, m, k, al, lda, BITS[a]), 32),
            _slots(_laid(y, k, n, bl, ldb, BITS[b]), 32),
            _slots(_laid(z, m, n, cl, ldc, BITS[c]), 32),
        ]
        return [tuple(v for area in areas for v in area[lane]) for lane in range(32)]

    merge = combine((d, a, b, c), sat, exclusive, rnd.strip(".") or "rn", d == c == "f16")
    # The result: every lane reads m * n / 32 elements of D (in row order) back.
    results = m * n // 32
    ldd = (n if cl == "row" else m) + more

    def everything(_: Rows) -> list[Outputs]:
        x, y, z = inputs()
        out: list[Outputs] = []
        for lane in range(32):
            mine = [divmod(lane * results + j, n) for j in range(results)]
            out.append(tuple(merge([(x[i, t], y[t, j]) for t in range(k)], z[i, j]) for i, j in mine))
        return out

    body = [f"mov.u32 %z{label}, area_{label};" for label in "abcd"]
    first = 0
    for count, label in zip(counts, "abc", strict=True):
        body.append(_fill(first, count, f"%z{label}"))
        first += count
    body.append("bar.sync 0;")
    program = _Program(space)
    if space == "global":
        body.append("mov.u64 %q3, area_g;")
        for label in "abc":
            body.append(
                f"mov.u32 %x1, %idx; LOOP_{label}: mad.lo.u32 %x2, %x1, 4, %z{label}; ld.shared.u32 %x3, [%x2]; add.u64 %q2, %q3,"
                f" {8192 * 'abc'.index(label)}; mad.wide.u32 %q2, %x1, 4, %q2; st.global.u32 [%q2], %x3; add.u32 %x1, %x1, 32;"
                f" setp.lt.u32 %l0, %x1, 2048; @%l0 bra LOOP_{label};"
            )
        body.append("bar.sync 0;")
    at = f".{space}" if space else ""
    fragment_a, fragment_b = _size(m * k, a), _size(n * k, b)
    sums = {"f16": m * n // 64, "f64": 2}
    count_c, count_d = sums.get(c, m * n // 32), sums.get(d, m * n // 32)
    letter = "g" if a == "f64" else "y"
    regs = {}
    start = 0
    for label, count in (("a", fragment_a), ("b", fragment_b), ("c", count_c), ("d", count_d)):
        regs[label] = "{" + ", ".join(f"%{letter}{start + j}" for j in range(count)) + "}"
        start += count

    def last(ld: int, register: str) -> str:
        if stride == "none":
            return ""
        if stride == "const":
            return f", {ld}"
        program.lines.append(
            f"mov.u32 {register}, %ntid.x; mad.lo.u32 {register}, {register}, 0, {ld};"
            if stride == "wide"
            else f"mov.u32 {register}, {ld};"
        )
        return f", {register}"

    for label, layout, ld, type_ in (("a", al, lda, a), ("b", bl, ldb, b), ("c", cl, ldc, c)):
        where = program.address(f"area_{label}")
        program.lines.append(
            f"wmma.load.{label}.sync.aligned.{layout}.{shape}{at}.{type_} {regs[label]}, {where}{last(ld, '%x4')};"
        )
        if not program.lines[-1].startswith("wmma"):
            program.lines.append(program.lines.pop(-2))
    types = f".{d}.{c}" if a == "f16" else f".{row}"
    satfinite = ".satfinite" if sat else ""
    program.lines.append(
        f"wmma.mma{mod}.sync.aligned.{al}.{bl}.{shape}{rnd}{types}{satfinite} {regs['d']}, {regs['a']}, {regs['b']}, {regs['c']};"
    )
    where = program.address("area_d")
    program.lines.append(f"wmma.store.d.sync.aligned.{cl}.{shape}{at}.{d} {where}, {regs['d']}{last(ldd, '%x4')};")
    body += program.lines
    body.append("bar.sync 0;")
    bits = BITS[d]
    for j in range(results):
        body.append(f"mad.lo.u32 %x1, %idx, {results}, {j}; div.u32 %x2, %x1, {n}; rem.u32 %x3, %x1, {n};")
        body.append(
            f"mad.lo.u32 %x1, {'%x2' if cl == 'row' else '%x3'}, {ldd}, {'%x3' if cl == 'row' else '%x2'}; mul.lo.u32 %x1, %x1, {bits // 8};"
        )
        if space == "global":
            body.append(f"cvt.u64.u32 %q2, %x1; add.u64 %q2, %q2, %q3; ld.global.b{bits} %o{j}, [%q2+{3 * _AREA}];")
        else:
            body.append(f"add.u32 %x1, %x1, %zd; ld.shared.b{bits} %o{j}, [%x1];")
    declared = " ".join(f".shared .align 32 .b8 area_{label}[{_AREA}];" for label in "abcd")
    return Form(
        name,
        "\n".join(body),
        ["b64"] * first,
        [f"b{bits}"] * results,
        rows,
        want_all=everything,
        sm=80 if mod == ".and.popc" else sm,
        decl=f".reg .b32 %x<5>, %za, %zb, %zc, %zd; .reg .b64 %q<4>; .reg .pred %l0; .reg .b32 %y<40>; .reg .b64 %g<8>; {declared}",
        module=".global .align 32 .b8 area_g[32768];\n",
    )


def _size(elements: int, type_: str) -> int:
    return 8 if type_ == "f16" else 1 if type_ == "f64" else max(1, elements * BITS[type_] // 1024)


_WAYS: Final = (
    ("row", "row", "row", "global"), ("row", "col", "col", ""), ("row", "row", "col", "shared"), ("col", "col", "col", "global"),
    ("col", "row", "row", ""), ("col", "col", "row", "shared"), ("row", "row", "row", "shared::cta"), ("col", "col", "col", "shared::cta"),
)  # fmt: skip
"""Layouts of A, B, C and a space: every layout of each in every space, every pair of layouts of A and B."""


def wmma() -> list[Form]:
    """Every shape and type with every layout in every space; strides, roundings and values in turn."""
    out = []
    turn = 0
    strides = ("tight", "wide", "const", "none")
    for row, shapes, sm in _TYPES:
        d, a = row.split(".")[:2]
        fixed = a in ("s4", "u4", "b1")
        for shape in shapes:
            for al, bl, cl, space in _WAYS:
                turn += 1
                kind = ("plain", "special")[turn % 2]
                sat = d == "s32" and a != "b1" and turn % 3 == 0
                rnd = ("", ".rn", ".rz", ".rm", ".rp")[turn % 5] if a == "f64" else ""
                mod = (".xor.popc", ".and.popc")[turn % 2] if a == "b1" else ""
                layouts = ("row", "col") if fixed else (al, bl)
                out.append(
                    _wmma(
                        shape, row, sm, *layouts, cl, space, kind, strides[turn // 6 % 4 + turn % 2 & 3], rnd, mod, sat
                    )
                )
            # What the turns leave out: saturation, roundings and operations with every pair of layouts.
            if a in ("f16", "bf16", "tf32"):
                continue
            for al, bl in (("row", "col"),) if fixed else itertools.product(("row", "col"), repeat=2):
                for rnd in ("", ".rn", ".rz", ".rm", ".rp") if a == "f64" else ("",):
                    for mod in (".xor.popc", ".and.popc") if a == "b1" else ("",):
                        for sat in (False, True) if d == "s32" and a != "b1" else (False,):
                            out.append(
                                _wmma(shape, row, sm, al, bl, "row", "shared", "special", "tight", rnd, mod, sat)
                            )
    return list({f.name: f for f in out}.values())


def _rows_of(r_name: str) -> list[list[int]]:
    """32 rows of eight 16-bit elements."""
    r = rng(r_name)
    return [[r.getrandbits(16) for _ in range(8)] for _ in range(32)]


def _spots(trans: bool) -> Callable[[int, int], tuple[int, int]]:
    """(row, column) of half `e` of lane's register of an 8x8 matrix."""
    places = elements_a(8, 8, 16)

    def spot(lane: int, e: int) -> tuple[int, int]:
        i, j = places[lane][e]
        return (j, i) if trans else (i, j)

    return spot


def transfers() -> list[Form]:
    """ldmatrix, stmatrix, movmatrix."""
    out = []
    for num, count in (("x1", 1), ("x2", 2), ("x4", 4)):
        for trans in ("", ".trans"):
            for space in (".shared", ".shared::cta", ""):
                out.append(_ldmatrix(num, count, trans, space))
                out.append(_stmatrix(num, count, trans, space))
    spot = _spots(True)
    rows = [(x,) for x in (rng("movmatrix").getrandbits(32) for _ in range(32))]
    plain = _spots(False)
    matrix = {plain(lane, e): rows[lane][0] >> 16 * e & 0xFFFF for lane in range(32) for e in (0, 1)}
    moved: list[Outputs] = [matrix[spot(lane, 0)] | matrix[spot(lane, 1)] << 16 for lane in range(32)]
    out.append(
        Form(
            "movmatrix",
            "movmatrix.sync.aligned.m8n8.trans.b16 %o0, %a0;",
            ["b32"],
            ["b32"],
            rows,
            want_all=lambda _: moved,
        )
    )
    return out


_MATRIX_DECL = ".reg .b32 %x<4>; .reg .b64 %q<2>; .shared .align 16 .b8 rows[1024];"


def _where(space: str) -> tuple[str, str]:
    if space:
        return "", "[%x1]"
    return "cvt.u64.u32 %q0, %x1; cvta.shared.u64 %q0, %q0;", "[%q0]"


def _ldmatrix(num: str, count: int, trans: str, space: str) -> Form:
    name = f"ldmatrix.{num}{trans}{space}"
    data = _rows_of(name)
    order = list(range(32))
    rng(name + "order").shuffle(order)
    # Lane l stores row l in place order[l] and gives the address of that place, so row l is row l % 8 of matrix l / 8.
    rows = [(*(data[lane][2 * j] | data[lane][2 * j + 1] << 16 for j in range(4)), order[lane]) for lane in range(32)]
    spot = _spots(bool(trans))
    want: list[Outputs] = []
    for lane in range(32):
        words = []
        for x in range(count):
            halves = [data[8 * x + spot(lane, e)[0]][spot(lane, e)[1]] for e in (0, 1)]
            words.append(halves[0] | halves[1] << 16)
        want.append(tuple(words))
    setup, where = _where(space)
    regs = "{" + ", ".join(f"%o{j}" for j in range(count)) + "}"
    body = (
        "mov.u32 %x3, rows; mad.lo.u32 %x1, %a4, 16, %x3; st.shared.v4.b32 [%x1], {%a0, %a1, %a2, %a3}; bar.sync 0; "
        f"{setup}\nldmatrix.sync.aligned.m8n8.{num}{trans}{space}.b16 {regs}, {where};"
    )
    return Form(name, body, ["b32"] * 5, ["b32"] * count, rows, want_all=lambda _: want, decl=_MATRIX_DECL)


def _stmatrix(num: str, count: int, trans: str, space: str) -> Form:
    name = f"stmatrix.{num}{trans}{space}"
    r = rng(name)
    rows = [tuple(r.getrandbits(32) for _ in range(count)) for _ in range(32)]
    spot = _spots(bool(trans))
    stored = {}
    for lane in range(32):
        for x in range(count):
            for e in (0, 1):
                i, j = spot(lane, e)
                stored[8 * x + i, j] = rows[lane][x] >> 16 * e & 0xFFFF
    want: list[Outputs] = []
    for lane in range(32):
        line = lane % (8 * count)
        want.append(tuple(stored[line, 2 * j] | stored[line, 2 * j + 1] << 16 for j in range(4)))
    setup, where = _where(space)
    regs = "{" + ", ".join(f"%a{j}" for j in range(count)) + "}"
    body = (
        f"mov.u32 %x3, rows; mad.lo.u32 %x1, %idx, 16, %x3; {setup}\nstmatrix.sync.aligned.m8n8.{num}{trans}{space}.b16 {where}, {regs}; bar.sync 0; "
        f"rem.u32 %x2, %idx, {8 * count}; mad.lo.u32 %x2, %x2, 16, %x3; ld.shared.v4.b32 {{%o0, %o1, %o2, %o3}}, [%x2];"
    )
    return Form(name, body, ["b32"] * count, ["b32"] * 4, rows, want_all=lambda _: want, decl=_MATRIX_DECL, sm=90)


def forms() -> list[Form]:
    """Every form of this file."""
    return wmma() + transfers()
