"""The order of few registers: loads written in front of all their uses come to stand before each."""

from orias.analysis.liveness import liveness
from orias.ori.text import parse
from orias.schedule.list import _pressure, schedule_virtual


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
    before = _pressure(fn, fn.blocks[0], liveness(fn))
    schedule_virtual(fn)
    after = _pressure(fn, fn.blocks[0], liveness(fn))
    assert before >= 52
    assert after <= 28
