"""Sums of any depth: addresses are looked through without recursion."""

from orias.isa.operand import imm_value
from orias.ori.text import parse
from orias.ori.verify import verify
from orias.passes.reassociate import reassociate_addresses

LONG = 3000
"""Additions in a row, more than Python calls may nest."""


def test_long_chain_of_additions() -> None:
    """Two addresses at the end of a long chain are one register and two offsets."""
    adds = [f"  v{257 + k}:R = IADD3 v{256 + k}, 0x1, RZ" for k in range(LONG)]
    last = 256 + LONG
    fn = parse(
        "\n".join(
            [
                ".func k sm_90 entry ssa",
                "b0:",
                "  v256:R = S2R SR_TID.X",
                *adds,
                f"  v{last + 1}:R = LDS -, v{last - 1}, URZ, 0x0",
                f"  v{last + 2}:R = LDS -, v{last}, URZ, 0x4",
                f"  STS -, v{last + 1}, URZ, 0x0, v{last + 2}",
                "  EXIT\n",
            ]
        )
    )
    assert reassociate_addresses(fn)
    assert verify(fn) == []
    first, second = [i for i in fn.insts() if i.op.base == "LDS"]
    assert first.src[1] == second.src[1] == fn.blocks[0].insts[0].dst[0]
    assert [imm_value(i.src[3]) for i in (first, second)] == [LONG - 1, LONG + 4]
