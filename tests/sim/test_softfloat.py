"""Vector arithmetic of every rounding mode against exact arithmetic, on operands chosen to be hard to round."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest

from orias.semantics import ieee
from orias.semantics.approximate import mufu
from orias.sim.math import ops_float, ops_half, ops_int
from orias.sim.math import softfloat as sf
from orias.sim.math.ops_narrow import NARROW, decode_scale, encode_scale
from tests.sim.test_instructions import arith, pattern, value

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

MODES = [("rn", sf.RN), ("rm", sf.RM), ("rp", sf.RP), ("rz", sf.RZ)]


def hard(width: int, fraction: int, n: int, seed: int) -> list[np.ndarray]:  # type: ignore[type-arg]
    """Three arrays of patterns: exponents close together, few set bits, and addends that cancel the product."""
    rng = random.Random(seed)
    bias = (1 << width - fraction - 2) - 1
    out: list[list[int]] = [[], [], []]
    for _ in range(n):
        row = []
        for _ in range(3):
            f = rng.getrandbits(fraction)
            if rng.random() < 0.5:
                f &= -1 << rng.randrange(fraction)
            e = rng.choice(
                (bias + rng.randrange(-fraction - 4, fraction + 4), rng.randrange(2 * bias + 2), 0, 1, 2 * bias)
            )
            row.append(rng.getrandbits(1) << width - 1 | max(e, 0) << fraction | f)
        if rng.random() < 0.3:
            fmt = "f32" if width == 32 else "f64"
            row[2] = arith("mul", fmt)(row[0], row[1]) ^ 1 << width - 1 ^ rng.getrandbits(1)
        for column, v in zip(out, row, strict=True):
            column.append(v)
    return [np.array(v, np.uint32 if width == 32 else np.uint64) for v in out]


@pytest.mark.parametrize(("name", "mode"), MODES)
def test_f32(name: str, mode: int) -> None:
    a, b, c = hard(32, 23, 400, mode)
    with np.errstate(all="ignore"):
        got = {"add": sf.fadd32(a, c, mode), "mul": sf.fmul32(a, b, mode), "fma": sf.fma32(a, b, c, mode)}
    for kind, operands in (("add", (a, c)), ("mul", (a, b)), ("fma", (a, b, c))):
        want = [arith(kind, "f32", name)(*map(int, x)) for x in zip(*operands, strict=True)]
        assert got[kind].tolist() == want, kind


@pytest.mark.parametrize("kind", ["usual", "hard", "tiny", "ties"])
def test_f32_into_an_array(kind: str) -> None:
    """The forms that write into an array take a short way where no element is special; operands may be the array itself."""
    rng = np.random.default_rng(11)
    for _ in range(40):
        n = int(rng.integers(1, 300))
        if kind == "usual":
            a, b, c = rng.standard_normal((3, n)).astype("f4").view("u4")
        elif kind == "tiny":
            # Products next to the least normal number and below, on both sides of the middle between two results.
            a = (rng.integers(1 << 23, 1 << 24, n).astype("f8") * 2.0**-86).astype("f4").view("u4")
            b = (rng.integers(1 << 23, 1 << 24, n).astype("f8") * 2.0**-86).astype("f4").view("u4")
            c = (rng.integers(-3, 4, n).astype("u4") << np.uint32(31)) | rng.integers(0, 3, n).astype("u4")
        elif kind == "ties":
            # 1 + 2^-24 is in the middle between two f32 numbers; the product decides.
            a = np.full(n, 0x3F800000, "u4") + rng.integers(0, 3, n).astype("u4")
            b = np.full(n, 0x3F800000, "u4") - rng.integers(0, 3, n).astype("u4")
            c = (0x33800000 + (rng.integers(-1, 2, n) << 23)).astype("u4")
        else:
            a, b, c = hard(32, 23, n, int(rng.integers(1 << 30)))
            n = len(a)
        out = np.zeros(n, "u4")
        assert (sf.plain_fma(a, b, c, out=out) == sf.fma32(a, b, c)).all()
        assert (sf.plain_sum(a, b, out=out) == sf.fadd32(a, b)).all()
        assert (sf.plain_product(a, b, out=out) == sf.fmul32(a, b)).all()
        same = c.copy()
        assert (sf.plain_fma(a, b, same, out=same) == sf.fma32(a, b, c)).all()
        same = a.copy()
        assert (sf.plain_fma(same, b[:1], c, out=same) == sf.fma32(a, b[:1], c)).all()
    least = np.full(1, 0x00800000, "u4")
    # 2^-126 - 2^-150, a tie in f64 of 2^-126 - 2^-149 and 2^-126, less 2^-200: below the tie.
    x, y = np.float32(-(2.0**-75)).view("u4").reshape(1), np.float32(2.0**-75 + 2.0**-98).view("u4").reshape(1)
    want = ieee.fma(ieee.F32, int(x[0]), int(y[0]), int(least[0]), sf.RN)
    assert sf.plain_fma(x, y, least, out=np.zeros(1, "u4"))[0] == want


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(("name", "mode"), MODES)
def test_f64(name: str, mode: int) -> None:
    a, b, c = hard(64, 52, 400, mode)
    with np.errstate(all="ignore"):
        got = {"add": sf.dadd64(a, c, mode), "mul": sf.dmul64(a, b, mode), "fma": sf.dfma64(a, b, c, mode)}
    for kind, operands in (("add", (a, c)), ("mul", (a, b)), ("fma", (a, b, c))):
        want = [arith(kind, "f64", name)(*map(int, x)) for x in zip(*operands, strict=True)]
        assert got[kind].tolist() == want, kind


def test_long_fused_products() -> None:
    """Thousands of operands at once: sums that cancel, ties that the error of an inner sum decides, zeros, and one lane too large."""
    rng = np.random.default_rng(1)
    n = 5000
    x, y = rng.standard_normal((2, n))
    z = np.choose(np.arange(n) % 5, [rng.standard_normal(n), -x * y, -x * y * (1 + 2.0**-52), 0 * x, x * 2.0**-60])
    # The product is just above 2^-53, half a unit of the last place of 1; its rounded error says that it is 2^-53.
    x[::7], y[::7], z[::7] = 1 - 2.0**-53, (1 + 2.0**-52) * 2.0**-53, 1
    x[3::11], z[3::33] = 0, -0.0
    x[4000] = 1e300
    a, b, c = (v.view("u8") for v in (x, y, z))
    got, rows = sf.dfma64(a, b, c), [v.tolist() for v in (a, b, c)]
    assert got[0] == np.float64(1 + 2.0**-52).view("u8")
    assert got.tolist() == [ieee.fma(ieee.F64, *operands, sf.RN) for operands in zip(*rows, strict=True)]


@pytest.mark.parametrize("bf16", [False, True])
def test_every_half(bf16: bool) -> None:
    p = np.arange(1 << 16).astype(np.uint16)
    v = ops_half.value(p, bf16)
    fmt = "bf16" if bf16 else "f16"
    finite = np.isfinite(v)
    assert all(float(value(int(i), fmt)) == x for i, x in zip(p[finite][::17], v[finite][::17], strict=True))
    with np.errstate(invalid="ignore"):
        back = ops_half.pattern(v, bf16)
    assert (back[~np.isnan(v)] == p[~np.isnan(v)]).all() and (back[np.isnan(v)] == 0x7FFF).all()


LARGEST = {"E4M3": 448.0, "E5M2": 57344.0, "E3M2": 28.0, "E2M3": 7.5, "E2M1": 6.0}


@pytest.mark.parametrize("name", LARGEST)
def test_every_narrow_float(name: str) -> None:
    f = NARROW[name]
    codes = np.arange(1 << f.bits).astype(np.uint8)
    v = f.decode(codes)
    finite = np.isfinite(v)
    assert (f.encode(v[finite], False) == codes[finite]).all()
    assert v[finite].max() == LARGEST[name] and int((~finite).sum()) == {"E4M3": 2, "E5M2": 8}.get(name, 0)
    largest = int(np.flatnonzero(v == LARGEST[name])[0])
    sign = 1 << f.bits - 1
    nan = 0x7F if f.bits == 8 else largest
    special = np.array([np.nan, -np.nan, 1e9, -1e9, -0.0, np.inf, -np.inf])
    assert f.encode(special, False).tolist() == [nan, nan, largest, largest | sign, sign, largest, largest | sign]
    assert f.encode(special, True).tolist() == [nan, nan, largest, 0, 0, largest, 0]
    ordered = v[: sign - 1][np.isfinite(v[: sign - 1])]
    between = (ordered[:-1] + ordered[1:]) / 2
    assert (f.encode(between, False) & 1 == 0).all()


def test_every_scale() -> None:
    codes = np.arange(256).astype(np.uint8)
    wide = decode_scale(codes).astype(np.uint32) << np.uint32(16)
    for up, finite in itertools.product((False, True), repeat=2):
        assert encode_scale(wide, up, finite).tolist() == codes.tolist()
    values = np.array([1.0, 1.5, -3.0, 2.0**-127, 2.0**-126 * 0.75, 2.0**-149, 0.0, 3e38, np.inf], np.float32).view(
        np.uint32
    )
    assert encode_scale(values, False, True).tolist() == [127, 127, 128, 0, 0, 0, 0, 254, 254]
    assert encode_scale(values, True, True).tolist() == [127, 128, 129, 0, 1, 0, 0, 254, 254]
    assert encode_scale(values, True, False).tolist() == [127, 128, 129, 0, 1, 0, 0, 255, 255]


def test_round_exact_agrees_with_fractions() -> None:
    rng = random.Random(4)
    for _ in range(300):
        m, e = rng.getrandbits(rng.randrange(1, 140)) | 1, rng.randrange(-1200, 1000)
        m = -m if rng.random() < 0.5 else m
        for name, mode in MODES:
            assert ieee.round_exact(ieee.F64, m, e, mode) == pattern(Fraction(m) * Fraction(2) ** e, "f64", name)


def test_atomic_order_and_bit_operations() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 1 << 32, 500, dtype=np.uint64).astype(np.uint32)
    assert ops_int.popc(a).tolist() == [int(x).bit_count() for x in a]
    assert ops_int.flo(a, False, False).tolist() == [int(x).bit_length() - 1 for x in a]
    assert ops_int.brev(ops_int.brev(a)).tolist() == a.tolist()
    for table in (0x1D, 0xE8, 0x96, 0x00, 0xFF, 0x4B):
        got = np.broadcast_to(ops_int.lop3(a, a[::-1], a * np.uint32(3), table), a.shape)
        x, y, z = int(a[7]), int(a[::-1][7]), int(a[7]) * 3 & 0xFFFFFFFF
        assert int(got[7]) == sum(
            (table >> ((x >> i & 1) * 4 + (y >> i & 1) * 2 + (z >> i & 1)) & 1) << i for i in range(32)
        )


@pytest.mark.parametrize(("name", "mode"), MODES)
def test_vectors_agree_with_the_scalar_meaning(name: str, mode: int) -> None:
    """The numpy code and ``orias.semantics`` (the constant folder's) are one function."""
    for f, width, fraction in ((ieee.F32, 32, 23), (ieee.F64, 64, 52)):
        a, b, c = hard(width, fraction, 300, 20 + mode)
        for x in (a, b, c):
            x[::7] = [f.inf, f.nan, f.sign, f.sign | f.inf, 1, f.inf - 1, f.one][mode]
        rows = list(zip(a.tolist(), b.tolist(), c.tolist(), strict=True))
        add, mul, fma = (sf.fadd32, sf.fmul32, sf.fma32) if width == 32 else (sf.dadd64, sf.dmul64, sf.dfma64)
        with np.errstate(all="ignore"):
            assert add(a, b, mode).tolist() == [ieee.add(f, x, y, mode) for x, y, _ in rows]
            assert mul(a, b, mode).tolist() == [ieee.mul(f, x, y, mode) for x, y, _ in rows]
            assert fma(a, b, c, mode).tolist() == [ieee.fma(f, x, y, z, mode) for x, y, z in rows]
            floats = a.view(np.float32 if width == 32 else np.float64)
            for compare in ops_float.COMPARISONS:
                want = [ieee.compare(f, compare, x, y) for x, y, _ in rows]
                assert ops_float.compare(compare, floats, b.view(floats.dtype)).tolist() == want
            for signed in (False, True):
                for bits in (8, 32, 64):
                    got = ops_float.to_int(floats.astype(np.float64), bits, signed, mode, False)
                    assert got.tolist() == [ieee.to_int(f, x, bits, signed, mode, False) for x, _, _ in rows]
            if width == 32:
                for minimum in (False, True):
                    for nan, xorsign in ((False, False), (True, False), (False, True)):
                        got = ops_float.fmnmx(a, b, np.full(a.shape, minimum), False, nan, xorsign)
                        assert got.tolist() == [ieee.minmax(f, x, y, minimum, nan, xorsign) for x, y, _ in rows]
                for function in ("RCP", "RSQ", "SQRT", "LG2", "EX2"):
                    got = ops_float.mufu(function, a)
                    want_bits = [mufu(function, x) for x, _, _ in rows]
                    assert all(abs(g - w) <= 1 for g, w in zip(got.tolist(), want_bits, strict=True)), function
            else:
                for to, half in ((ieee.F16, False), (ieee.BF16, True)):
                    got = ops_half.pattern(floats, half, mode)
                    assert got.tolist() == [ieee.convert(f, to, x, mode) for x, _, _ in rows]
                high = (a >> np.uint64(32)).astype(np.uint32)
                for function in ("RCP64H", "RSQ64H"):
                    got = ops_float.mufu64h(function, high)
                    assert got.tolist() == [mufu(function, x) for x in high.tolist()]
