"""The order of few registers: loads written before all their uses come to stand before each."""

from orias.analysis.liveness import liveness
from orias.ori.text import parse
from orias.schedule.deps import build, virtual_reads, virtual_writes
from orias.schedule.list import schedule_virtual
from orias.schedule.plans import block_pressure
from orias.schedule.sink import Piece, eager_order, few_registers, most_live
from orias.schedule.word_counts import WordCounting
from orias.timing.latency import latency


def test_loads_sink_to_their_products() -> None:
    loads = "".join(f"  v{300 + n}:R4 = LDSM.16.M88.4 -, v256, URZ, 0x{16 * n:x}\n" for n in range(12))
    products = ""
    last = "v257"
    for n in range(0, 12, 2):
        products += f"  v{400 + n}:R4 = HMMA.16816.F32 v{300 + n}, v{301 + n}.p0, {last}\n"
        last = f"v{400 + n}"
    text = (
        ".func k sm_80 entry ssa\nb0:\n  v256:R = S2R SR_TID.X\n  v257:R4 = LDSM.16.M88.4 -, v256, URZ, 0x400\n"
        f"{loads}{products}  STG.E.128 -, RZ, URZ, 0x0, {last}\n  EXIT\n"
    )
    fn = parse(text)
    before = block_pressure(fn, fn.blocks[0], liveness(fn))
    schedule_virtual(fn)
    after = block_pressure(fn, fn.blocks[0], liveness(fn))
    assert before >= 52
    assert after <= 28


def piece_of(text: str, live_after: int = 0) -> Piece:
    fn = parse(text)
    insts = fn.blocks[0].insts[:-1]
    reads = [sorted(set(virtual_reads(i))) for i in insts]
    graph = build(insts, [], fn, latency(fn.target.latency_class), True)
    return Piece(fn, graph, reads, [virtual_writes(i) for i in insts], live_after, WordCounting(fn))


def sums(count: int, kind: str) -> str:
    """Quads that are loaded in front, halved to words one by one, and summed up at the end."""
    text = ".func k sm_80 entry ssa\nb0:\n  v256:R = S2R SR_TID.X\n"
    text += "".join(f"  v{300 + n}:R4 = LDS.128 -, v256, URZ, 0x{16 * n:x}\n" for n in range(count))
    for n in range(count):
        text += f"  v{400 + n}:R = IADD3 v{300 + n}.0, v{300 + n}.1, v{300 + n}.2\n"
    total = "v256"
    for n in range(count):
        if kind == "words":
            text += f"  v{500 + n}:R = IADD3 v{400 + n}, {total}, RZ\n"
        else:
            text += f"  v{600 + n}:P, PT = ISETP.LT.AND v{400 + n}, 0x5, PT\n"
        total = f"v{500 + n}"
    if kind != "words":
        for n in range(count):
            text += f"  v{500 + n}:R = SEL v{500 + n - 1 if n else 256}, 0x{n:x}, v{600 + n}\n"
    return f"{text}  STG.E -, RZ, URZ, 0x0, {total}\n  EXIT\n"


def test_sums_follow_their_terms() -> None:
    piece = piece_of(sums(16, "words"))
    order = eager_order(piece, list(range(len(piece.reads))))
    assert most_live(piece, list(range(len(piece.reads)))) >= 64
    assert most_live(piece, order) <= 8
    assert most_live(piece, few_registers(piece)) <= 8


def test_predicates_are_registers_too() -> None:
    piece = piece_of(sums(16, "predicates"))
    order = few_registers(piece)
    live = most = 0
    for k in order:
        live += sum(piece.predicate[d] for d in piece.writes[k]) - sum(piece.predicate[s] for s in piece.reads[k])
        most = max(most, live)
    assert most <= 6


def test_predicates_for_later_code_are_held() -> None:
    """Tests of values that die there are free, but no more than six predicates are held for the code after the piece."""
    text = ".func k sm_80 entry ssa\nb0:\n"
    text += "".join(f"  v{300 + n}:R = S2R SR_TID.X\n" for n in range(8))
    text += "  v500:R = LDS -, RZ, URZ, 0x0\n  STS -, RZ, URZ, 0x4, v500\n"
    text += "".join(f"  v{400 + n}:P, PT = ISETP.LT.AND v{300 + n}, 0x5, PT\n" for n in range(8))
    piece = piece_of(text + "  EXIT\n", sum(1 << 400 + n for n in range(8)))
    order = eager_order(piece, list(range(len(piece.reads))))
    assert order == [0, 10, 1, 11, 2, 12, 3, 13, 4, 14, 5, 15, 6, 7, 8, 9, 16, 17]


def test_nothing_is_hoisted_over_the_peak() -> None:
    """Loads whose uses lie after the point of highest pressure stay after it, however long they take."""
    text = ".func k sm_80 entry ssa\nb0:\n  v256:R = S2R SR_TID.X\n"
    text += "".join(f"  v{300 + n}:R4 = LDS.128 -, v256, URZ, 0x{16 * n:x}\n" for n in range(16))
    text += "  v400:R = IADD3 v300.0, v301.0, v302.0\n"
    for n in range(400, 430):
        text += f"  v{n + 1}:R = IADD3 v{n}, v{300 + (n + 3) % 16}.1, v{300 + (n + 7) % 16}.{n % 4}\n"
    text += "".join(f"  v{500 + n}:R4 = LDG.E.128 -, v256, URZ, 0x{16 * n:x}\n" for n in range(8)).replace(
        "-, v256", "-, RZ"
    )
    last = "v430"
    for n in range(8):
        text += f"  v{600 + n}:R = IADD3 v{500 + n}.0, v{500 + n}.1, {last}\n"
        last = f"v{600 + n}"
    fn = parse(f"{text}  STG.E -, RZ, URZ, 0x0, {last}\n  EXIT\n")
    schedule_virtual(fn)
    assert block_pressure(fn, fn.blocks[0], liveness(fn)) <= 68


def test_loads_far_in_front_of_many_chains() -> None:
    """An outer product: 40 chains of sums are ready at a time, the loads stand after them in the order looked through."""
    rows, columns, steps = 5, 8, 8
    text = ".func k sm_80 entry ssa\nb0:\n  v256:R = S2R SR_TID.X\n"
    loads = {}
    for k in reversed(range(steps)):
        for n in range(rows + columns):
            loads[k, n] = f"v{300 + 20 * k + n}"
            text += f"  {loads[k, n]}:R = LDS -, v256, URZ, 0x{4 * (20 * k + n):x}\n"
    sums = ["v256"] * (rows * columns)
    for k in range(steps):
        for at in range(rows * columns):
            new = f"v{1000 + 100 * k + at}"
            text += f"  {new}:R = FFMA {loads[k, at // columns]}, {loads[k, rows + at % columns]}, {sums[at]}\n"
            sums[at] = new
    text += "".join(f"  STG.E -, RZ, URZ, 0x{4 * at:x}, {s}\n" for at, s in enumerate(sums))
    piece = piece_of(text + "  EXIT\n")
    assert most_live(piece, list(range(len(piece.reads)))) >= steps * (rows + columns)
    assert most_live(piece, few_registers(piece)) <= rows * columns + 2 * (rows + columns)
