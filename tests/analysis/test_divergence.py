"""Which results differ between the threads of a warp."""

import pytest

from orias.analysis.divergence import divergence
from orias.isa.operand import vreg
from orias.ori.text import parse


@pytest.mark.parametrize(
    ("results", "operation"),
    [
        ("v258:R, v259:R, v260:R, v261:R", "HGMMA.64x8x16.F32 v256, RZ, !UPT"),
        ("v258:R, v259:R, v260:R, v261:R", "IGMMA.64x8x32.S8.S8 v256, RZ, !UPT"),
        ("v258:R", "LDSM.16.M88 -, RZ, v257, 0x0"),
    ],
)
def test_results_of_the_warp_vary(results: str, operation: str) -> None:
    """Also if all threads give the same operands: each gets its part of a matrix."""
    copies = "  v256:UR4 = copy c[0x0][0x210]\n  v257:UR = copy c[0x0][0x220]\n"
    fn = parse(f".func k sm_90a entry ssa\nb0:\n{copies}  {results} = {operation}\n  EXIT\n")
    div = divergence(fn)
    assert all(div.varying[vreg(d)] for d in fn.blocks[0].insts[2].dst)
