"""Places where the real ptxas (13.0.88) is wrong, each with its proof and with what we do instead.

A test here fails when the fault is gone in a newer release: then the entry goes too.
"""

import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import orias
from orias.cubin.elf import ElfFile
from tests.nvtools import LIMIT_S, tool

HERE = Path(__file__).parent
INPUTS = [
    0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000, 0x00000005FFFFFFF0, 0x7FFFFFFF00000003, 0x8000000000000000,
    0xFFFFFFFFFFFFFFFF, 0x123456789ABCDEF0, 0xFEDCBA9876543210, 0x00000007FFFFFFF9, 0xFFFFFFF900000007, 0x0100000000000000,
    0x0000001280000003,
]  # fmt: skip
"""One 64-bit value a thread."""


def signed(x: int, bits: int = 32) -> int:
    """The low bits as a two's complement number."""
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def results(cubin: bytes, bits: int, inputs: list[int] = INPUTS) -> list[int]:
    """What each thread stores for its input, as simulated."""
    np = pytest.importorskip("numpy")
    sim = pytest.importorskip("orias.sim")
    out = np.zeros(len(inputs), np.uint64)
    sim.load(cubin).launch("k", 1, len(inputs), [np.array(inputs, np.uint64), out])
    return [int(x) & (1 << bits) - 1 for x in out]


def ptxas(name: str, arch: str, level: int, folder: Path) -> bytes:
    """The cubin of the real tool."""
    out = folder / "k.cubin"
    command = [tool("ptxas"), f"-arch={arch}", f"-O{level}", str(HERE / name), "-o", str(out)]
    subprocess.run(command, check=True, timeout=LIMIT_S)
    return out.read_bytes()


def lowest(x: int) -> int:
    """min(min(low, -high), high >> 3)."""
    low, high = x & 0xFFFFFFFF, x >> 32
    return min(signed(low), signed(-high), high >> 3)


def canonical_half(x: int) -> int:
    """The low half of a value, NaNs replaced by the canonical one."""
    return 0x7FFF if x & 0x7FFF > 0x7C00 else x & 0xFFFF


def second_byte_as_float(x: int) -> int:
    """The bits of the f32 nearest to the sign-extended second byte, taken as an unsigned word."""
    word = signed(x >> 8, 8) & 0xFFFFFFFF
    return int.from_bytes(struct.pack("<f", word), "little")


def one_if_flushed(x: int) -> int:
    """1 where the low half is a zero or a denormal and the high half above 5; else a quotient and 2."""
    low, high = x & 0xFFFFFFFF, x >> 32
    return 1 if low & 0x7F800000 == 0 and high > 5 else high // (low | 1) + 2


def turns(x: int) -> int:
    """How often the loop's first instruction runs, 8 where it is skipped for the low half."""
    low, high = x & 0xFFFFFFFF, x >> 32
    if low <= 2:
        return 8
    if high > 127:
        return 0
    most = max(low & 3, 1)
    return min(most, 2) if low > 100 else most


def all_ones_if_large(x: int) -> int:
    """All ones where the high half is above 127, else the low half."""
    return 0xFFFFFFFF if x >> 32 > 127 else x & 0xFFFFFFFF


def clamped_sum(x: int) -> int:
    """The bits of max(min(a + b, 1), 0) of the halves as f32, where a NaN loses to the other operand of min."""
    a, b = struct.unpack("<2f", x.to_bytes(8, "little"))
    total = a + b
    clamped = 1.0 if total != total else max(min(total, 1.0), 0.0)
    return int.from_bytes(struct.pack("<f", clamped), "little")


def product_less_factor(x: int) -> int:
    """The bits of x * x - x in f32, rounded twice, of the halves from 1 to 1.5 with the low 22 bits of a half as fraction."""
    out = 0
    for shift in (32, 0):
        bits = x >> shift & 0x3FFFFF | 0x3F800000
        (f,) = struct.unpack("<f", bits.to_bytes(4, "little"))
        (square,) = struct.unpack("<f", struct.pack("<f", f * f))
        out = out << 32 | int.from_bytes(struct.pack("<f", square - f), "little")
    return out


WRONG: list[tuple[str, str, int, Callable[[int], int]]] = [
    ("bfe_position.ptx", "sm_75", 32, lambda x: -1 if x >> 31 & 1 else 0),
    ("bfe_position.ptx", "sm_80", 32, lambda x: -1 if x >> 31 & 1 else 0),
    ("bfe_position.ptx", "sm_90", 32, lambda x: -1 if x >> 31 & 1 else 0),
    ("bfi_length.ptx", "sm_75", 32, lambda x: x & 0x3FFF | 0x4000),
    ("bfi_length.ptx", "sm_90", 32, lambda x: x & 0x3FFF | 0x4000),
    ("sub_rotate.ptx", "sm_75", 64, lambda x: (x << 8) - (x >> 56)),
    ("sub_rotate.ptx", "sm_80", 64, lambda x: (x << 8) - (x >> 56)),
    ("sub_rotate.ptx", "sm_90", 64, lambda x: (x << 8) - (x >> 56)),
    ("add_rotate.ptx", "sm_75", 64, lambda x: (x << 45) + (signed(x, 64) >> 19)),
    ("add_rotate.ptx", "sm_90", 64, lambda x: (x << 45) + (signed(x, 64) >> 19)),
    ("minmax_negation.ptx", "sm_90", 32, lowest),
    ("byte_conversion.ptx", "sm_75", 32, second_byte_as_float),
    ("byte_conversion.ptx", "sm_90", 32, second_byte_as_float),
    ("ftz_branch.ptx", "sm_75", 32, one_if_flushed),
    ("ftz_branch.ptx", "sm_90", 32, one_if_flushed),
    ("unpacked_load.ptx", "sm_75", 32, lambda _: 0),
    ("unpacked_load.ptx", "sm_90", 32, lambda _: 0),
    ("loop_exit.ptx", "sm_75", 32, turns),
    ("loop_exit.ptx", "sm_80", 32, turns),
    ("loop_exit.ptx", "sm_90", 32, turns),
    ("mad_chain.ptx", "sm_75", 64, lambda x: x << 48),
    ("mad_chain.ptx", "sm_90", 64, lambda x: x << 48),
    ("bfe_uniform.ptx", "sm_80", 32, lambda x: 171 >> (x & 31)),
    ("bfe_uniform.ptx", "sm_90", 32, lambda x: 171 >> (x & 31)),
    ("byte_saturation.ptx", "sm_75", 32, lambda x: 255 if x >> 15 & 1 else x >> 8 & 255),
    ("byte_saturation.ptx", "sm_90", 32, lambda x: 255 if x >> 15 & 1 else x >> 8 & 255),
    ("add_sat.ptx", "sm_75", 32, lambda x: max(-(1 << 31), min((1 << 31) - 1, signed(signed(x) + 100) + 144586901))),
    ("add_sat.ptx", "sm_90", 32, lambda x: max(-(1 << 31), min((1 << 31) - 1, signed(signed(x) + 100) + 144586901))),
    ("abs_sign.ptx", "sm_75", 32, lambda x: 2 if x & 0xFFFFFFFF == 0x80000000 else 1),
    ("abs_sign.ptx", "sm_90", 32, lambda x: 2 if x & 0xFFFFFFFF == 0x80000000 else 1),
    ("packed_fusion.ptx", "sm_100", 64, product_less_factor),
    ("packed_fusion.ptx", "sm_120", 64, product_less_factor),
    ("packed_product.ptx", "sm_110", 32, lambda x: 0x33800000 if x & 1 else 0x3F801000),
    ("packed_product.ptx", "sm_120", 32, lambda x: 0x33800000 if x & 1 else 0x3F801000),
    ("clamp_sum.ptx", "sm_75", 32, clamped_sum),
    ("clamp_sum.ptx", "sm_90", 32, clamped_sum),
    ("clamp_sum.ptx", "sm_120", 32, clamped_sum),
    ("minmax_same.ptx", "sm_80", 32, canonical_half),
    ("minmax_same.ptx", "sm_90", 32, canonical_half),
    ("repeated_lop3.ptx", "sm_75", 32, lambda x: x & 3),
    ("repeated_lop3.ptx", "sm_90", 32, lambda x: x & 3),
    ("repeated_lop3.ptx", "sm_120", 32, lambda x: x & 3),
]
"""File (which says what is wrong), target, bits of a result, the exact result."""


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("name", "arch", "bits", "exact"), WRONG, ids=[f"{n[:-4]}-{a}" for n, a, _, _ in WRONG])
def test_wrong_code(name: str, arch: str, bits: int, exact: Callable[[int], int], tmp_path: Path) -> None:
    """ptxas -O3 computes something else, its -O0 and our code the exact result."""
    want = [exact(x) & (1 << bits) - 1 for x in INPUTS]
    assert results(ptxas(name, arch, 3, tmp_path), bits) != want
    assert results(ptxas(name, arch, 0, tmp_path), bits) == want
    for level in (0, 1, 3):
        assert results(orias.compile((HERE / name).read_text(), arch=arch, opt_level=level).data, bits) == want


def powers_and_counters(x: int) -> int:
    """r = 3 r + c for so many counters as the low four bits say, and one more, from 2000 x 2^20 in steps of 2^24."""
    out = 0
    for k in range((x & 15) + 1):
        out = 3 * out + (2000 << 20) + (k << 24)
    return out & 0xFFFFFFFF


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("level", [2, 3])
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_counter_wraps(arch: str, level: int, tmp_path: Path) -> None:
    """ptxas: the loop has no end once its counter is negative; at -O1 and with our code it has."""
    np = pytest.importorskip("numpy")
    sim = pytest.importorskip("orias.sim")
    want = [powers_and_counters(x) for x in INPUTS]
    theirs = sim.load(ptxas("counter_wraps.ptx", arch, level, tmp_path))
    inputs, out = np.array(INPUTS, np.uint64), np.zeros(len(INPUTS), np.uint64)
    with pytest.raises(sim.SimError, match="more than 10000 steps"):
        theirs.launch("k", 1, len(INPUTS), [inputs, out], max_steps=10_000)
    assert results(ptxas("counter_wraps.ptx", arch, 1, tmp_path), 32) == want
    text = (HERE / "counter_wraps.ptx").read_text()
    assert results(orias.compile(text, arch=arch, opt_level=level).data, 32) == want


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_guarded_set(arch: str, level: int, tmp_path: Path) -> None:
    """ptxas sign-extends the low half of what it leaves in the register, at every level."""
    want = [all_ones_if_large(x) for x in INPUTS]
    extended = [w if w == 0xFFFFFFFF else signed(w, 16) & 0xFFFFFFFF for w in want]
    assert results(ptxas("guarded_set.ptx", arch, level, tmp_path), 32) == extended != want
    text = (HERE / "guarded_set.ptx").read_text()
    assert results(orias.compile(text, arch=arch, opt_level=level).data, 32) == want


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_guarded_testp(arch: str, level: int, tmp_path: Path) -> None:
    """ptxas drops the guard of testp: the comparison that makes the guard is not even in its code."""
    number = [int(x & 0x7FFFFFFF <= 0x7F800000) for x in INPUTS]
    want = [n if x >> 32 > 127 else int(x & 0xFFFFFFFF > 2) for n, x in zip(number, INPUTS, strict=True)]
    assert results(ptxas("guarded_testp.ptx", arch, level, tmp_path), 32) == number != want
    text = (HERE / "guarded_testp.ptx").read_text()
    assert results(orias.compile(text, arch=arch, opt_level=level).data, 32) == want


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_vsub_max(arch: str, level: int, tmp_path: Path) -> None:
    """ptxas extends the difference with its sign, the third value with zeros, and compares without sign, at every level.

    So a difference of 2^31 or more always wins: the result is the smaller of two words by either reading of them.
    """
    pairs = [(x & 0xFFFFFFFF, ~x >> 32 & 0xFFFFFFFF) for x in INPUTS]
    want = [max(pair) for pair in pairs]
    theirs = results(ptxas("vsub_max.ptx", arch, level, tmp_path), 32)
    assert theirs == [a if a >> 31 else max(a, c) for a, c in pairs]
    assert any(t == a != c and a < c and signed(a) < signed(c) for t, (a, c) in zip(theirs, pairs, strict=True))
    text = (HERE / "vsub_max.ptx").read_text()
    assert results(orias.compile(text, arch=arch, opt_level=level).data, 32) == want


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_vadd_sat(arch: str, level: int, tmp_path: Path) -> None:
    """ptxas keeps the low word of a sum that is too large, at every level: it looks only for sums below zero."""
    sums = [(x & 0xFFFFFFFF) + (x >> 32) for x in INPUTS]
    want = [min(s, 0xFFFFFFFF) for s in sums]
    assert results(ptxas("vadd_sat.ptx", arch, level, tmp_path), 32) == [s & 0xFFFFFFFF for s in sums] != want
    text = (HERE / "vadd_sat.ptx").read_text()
    assert results(orias.compile(text, arch=arch, opt_level=level).data, 32) == want


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_element_parameter(arch: str, level: int, tmp_path: Path) -> None:
    """ptxas reads the first element of the array at every level."""
    want = [x & 0xFFFFFFFF if x & 1 else 5 for x in INPUTS]
    assert results(ptxas("element_parameter.ptx", arch, level, tmp_path), 32) == [5] * len(INPUTS) != want
    text = (HERE / "element_parameter.ptx").read_text()
    assert results(orias.compile(text, arch=arch, opt_level=level).data, 32) == want


@pytest.mark.parametrize("arch", ["sm_80", "sm_89"])
def test_missing_break(arch: str, tmp_path: Path) -> None:
    """ptxas -O0: half of a warp waits at BSYNC, the other half at WARPSYNC; its -O3 and our code end.

    By the meaning that BSSY, BSYNC, BREAK and WARPSYNC have in the simulator (docs/simulator.md).
    """
    sim = pytest.importorskip("orias.sim")
    text = (HERE / "missing_break.ptx").read_text()
    values = [0, 128] * 16
    want = [3] * len(values)
    with pytest.raises(sim.SimError, match=r"no thread can run; waiting: 16 at .* BSYNC B0; 16 at .* WARPSYNC"):
        results(ptxas("missing_break.ptx", arch, 0, tmp_path), 64, values)
    assert results(ptxas("missing_break.ptx", arch, 3, tmp_path), 64, values) == want
    for level in (0, 3):
        assert results(orias.compile(text, arch=arch, opt_level=level).data, 64, values) == want


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
def test_loop_negation(arch: str, tmp_path: Path) -> None:
    """ptxas -O1 replaces the negation by a constant although it runs four times; from -O2 on, and at -O0, the loops are right."""
    want = [0] * len(INPUTS)
    assert results(ptxas("loop_negation.ptx", arch, 1, tmp_path), 32) == [1] * len(INPUTS)
    assert results(ptxas("loop_negation.ptx", arch, 3, tmp_path), 32) == want
    assert results(ptxas("loop_negation.ptx", arch, 0, tmp_path), 32) == want
    text = (HERE / "loop_negation.ptx").read_text()
    for level in (0, 1, 3):
        assert results(orias.compile(text, arch=arch, opt_level=level).data, 32) == want


@pytest.mark.parametrize(
    ("name", "arch"),
    [("local_param.ptx", "sm_80"), ("float_sum_operand.ptx", "sm_80"), ("unreached_division.ptx", "sm_90")],
)
def test_crash(name: str, arch: str, tmp_path: Path) -> None:
    """ptxas dies of a signal and writes nothing."""
    command = [tool("ptxas"), f"-arch={arch}", str(HERE / name), "-o", str(tmp_path / "k.cubin")]
    assert subprocess.run(command, timeout=LIMIT_S, capture_output=True).returncode < 0
    assert not (tmp_path / "k.cubin").exists()
    text = (HERE / name).read_text()
    if name == "float_sum_operand.ptx":
        with pytest.raises(orias.CompileError, match="line 12: Arguments mismatch for instruction 'add'"):
            orias.compile(text, arch=arch)
    else:
        bits = 64 if name == "local_param.ptx" else 32
        for level in (0, 1, 3):
            assert results(orias.compile(text, arch=arch, opt_level=level).data, 64) == [
                x & (1 << bits) - 1 for x in INPUTS
            ]


def test_unreached_division_at_level_0(tmp_path: Path) -> None:
    assert results(ptxas("unreached_division.ptx", "sm_90", 0, tmp_path), 64) == [x & 0xFFFFFFFF for x in INPUTS]


def test_fence_acquire_becomes_an_illegal_word(tmp_path: Path) -> None:
    """fence.acquire.gpu on sm_75 to sm_89 assembles to sixteen zero bytes, which nvdisasm calls illegal.

    The orders of PTX ask for an acquire pattern: the CCTL.IVALL that ptxas itself writes for fence.acq_rel's acquire half.
    """
    out = tmp_path / "k.cubin"
    source = HERE / "fence_acquire.ptx"
    subprocess.run([tool("ptxas"), "-arch=sm_75", str(source), "-o", str(out)], check=True, timeout=LIMIT_S)
    text = next(s.data for s in ElfFile(out.read_bytes()).sections if s.name == ".text.k")
    assert bytes(16) in [text[i : i + 16] for i in range(0, len(text), 16)]
    refused = subprocess.run([tool("nvdisasm"), "-c", str(out)], capture_output=True, text=True, timeout=LIMIT_S)
    assert "Illegal instruction" in refused.stderr
    out.write_bytes(orias.compile(source.read_text(), arch="sm_75").data)
    accepted = subprocess.run([tool("nvdisasm"), "-c", str(out)], capture_output=True, text=True, timeout=LIMIT_S)
    assert accepted.returncode == 0 and "CCTL.IVALL" in accepted.stdout


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89"])
def test_szext_parameter(arch: str, tmp_path: Path) -> None:
    """ptxas puts the bank and the offset of a constant operand of SGXT into the wrong bits; -O0 moves it to a register."""

    def words(cubin: bytes) -> list[int]:
        code = next(s.data for s in ElfFile(cubin).sections if s.name == ".text.k")
        found = [int.from_bytes(code[k : k + 8], "little") for k in range(0, len(code), 16)]
        return [w for w in found if w & 0xFFF == 0xA1A]

    text = (HERE / "szext_parameter.ptx").read_text()
    theirs = words(ptxas("szext_parameter.ptx", arch, 3, tmp_path))
    ours = words(orias.compile(text, arch=arch, opt_level=3).data)
    # (bank, offset): bits 40 on hold a quarter of the offset, bits 54 on the bank
    assert [(w >> 54 & 31, (w >> 40 & 0x3FFF) * 4) for w in theirs] == [(28, 0)]
    assert [(w >> 54 & 31, (w >> 40 & 0x3FFF) * 4) for w in ours] == [(0, 0x170)]
