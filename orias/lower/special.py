"""Special registers: which system register or constant-bank word holds each.

Source: ``special_register_sources`` of the inventory (every row read off ptxas 13.0.88).  Constant offsets differ between
sm_75, sm_80 to 89 and sm_90.
"""

from typing import TYPE_CHECKING, Final

from orias.isa.operand import NEG, PT, RZ, Opnd, const, imm, word

if TYPE_CHECKING:
    from orias.lower.context import Ctx

_COMP: Final = "xyzw"

_S2R: Final[dict[str, str]] = {
    "tid": "SR_TID",
    "ctaid": "SR_CTAID",
    "laneid": "SR_LANEID",
    "smid": "SR_VIRTUALSMID",
    "lanemask_eq": "SR_EQMASK",
    "lanemask_le": "SR_LEMASK",
    "lanemask_lt": "SR_LTMASK",
    "lanemask_ge": "SR_GEMASK",
    "lanemask_gt": "SR_GTMASK",
}
"""Read with S2R; tid and ctaid have a component behind the name."""

_CS2R_32: Final[dict[str, str]] = {
    "clock": "SR_CLOCKLO",
    "clock_hi": "SR_CLOCKHI",
    "globaltimer_lo": "SR_GLOBALTIMERLO",
    "globaltimer_hi": "SR_GLOBALTIMERHI",
    **{f"pm{k}": f"SR_PM{k}" for k in range(8)},
}
_CS2R_64: Final[dict[str, str]] = {
    "clock64": "SR_CLOCKLO",
    "globaltimer": "SR_GLOBALTIMERLO",
    **{f"pm{k}_64": f"SR_PM{k}" for k in range(8)},
}

_BANK: Final[dict[str, tuple[int, int, int, int]]] = {
    # name: (words, sm_75, sm_80..89, sm_90); -1: not there
    "ntid": (1, 0x0, 0x0, 0x0),
    "nctaid": (1, 0xC, 0xC, 0xC),
    "nsmid": (1, 0x10C, 0x10C, 0x10C),
    "dynamic_smem_size": (1, 0x2C, 0x2C, 0x2C),
    "gridid": (2, 0x30, 0x30, 0x30),
    "current_graph_exec": (2, 0x120, 0x130, 0x190),
    "reserved_smem_offset_end": (1, -1, 0x120, 0x68),
    "reserved_smem_offset_1": (1, -1, 0x124, 0x6C),
    "nclusterid": (1, -1, -1, 0x15C),
    "cluster_nctaid": (1, -1, -1, 0x144),
    "cluster_nctarank": (1, -1, -1, 0x188),
    "is_explicit_cluster": (1, -1, -1, 0x140),
}
"""Constant bank 0; three-component registers hold consecutive words."""

_ENVREG: Final = (0x88, 0x88, 0x40)


SYSTEM_SMEM: Final = 1024
"""sm_90: bytes of shared memory that the system keeps, from offset 0 on."""


def _column(ctx: "Ctx") -> int:
    sm = ctx.target.sm
    return 0 if sm < 80 else 1 if sm < 90 else 2


def read_special(ctx: "Ctx", name: str, comp: str) -> Opnd:
    """The value of ``%name.comp``: one word, or two for 64-bit registers."""
    b = ctx.b
    k = _COMP.index(comp) if comp else 0
    if k == 3:
        return imm(0)
    sr = _S2R.get(name)
    if sr is not None:
        if comp:
            if name == "ctaid" and k == 2:
                ctx.module.kernel.ctaidz_used = True
            sr = f"{sr}.{_COMP[k].upper()}"
        return b.r("S2R", word(sr))
    sr = _CS2R_32.get(name)
    if sr is not None:
        return b.r("CS2R.32", word(sr))
    sr = _CS2R_64.get(name)
    if sr is not None:
        return b.r("CS2R", word(sr), width=2)
    column = _column(ctx)
    row = _BANK.get(name)
    if row is not None and row[1 + column] >= 0:
        return b.copy(const(0, row[1 + column] + 4 * k), row[0])
    if name.startswith("envreg"):
        return b.copy(const(0, _ENVREG[column] + 4 * int(name[6:])))
    if name == "total_smem_size":
        size = b.r("S2R", word("SR_SMEMSZ"))
        return b.r("IADD3", size, const(0, 0x114) | NEG, RZ) if column else size
    if name == "aggr_smem_size" and column == 2:
        return b.r("VIMNMX.U32", b.r("S2R", word("SR_SMEMSZ")), const(0, 0x13C), PT)
    if name in ("clusterid", "cluster_ctaid") and column == 2:
        return _cluster(ctx, name, k)
    if name.startswith("reserved_smem_offset_") and column:
        if column == 2:
            return imm(SYSTEM_SMEM if name.endswith("cap") else 0)
        size = b.r("S2R", word("SR_SMEMSZ"))
        return size if name.endswith("cap") else b.r("IADD3", size, const(0, 0x114) | NEG, RZ)
    if name == "warpid":
        return b.r("SGXT.U32", b.r("SHF.R.U32.HI", RZ, imm(8), b.r("S2R", word("SR_VIRTID"))), imm(7))
    if name == "nwarpid":
        if column < 2:
            return imm(ctx.target.threads_per_sm // 32)
        high = b.r("SHF.R.U32.HI", RZ, imm(8), b.r("S2R", word("SR_VIRTCFG")))
        return b.r("SGXT.U32", high, imm(8))
    if name == "cluster_ctarank" and column == 2:
        return b.r("S2R", word("SR_CgaCtaId"))
    raise ctx.unsupported(f"Special register '%{name}{'.' + comp if comp else ''}'")


def _cluster(ctx: "Ctx", name: str, k: int) -> Opnd:
    """Cluster number along an axis: ptxas multiplies the CTA number by a reciprocal; the CTA's place is the remainder."""
    b = ctx.b
    cta = b.r("S2R", word(f"SR_CTAID.{_COMP[k].upper()}"))
    quotient = b.r("FMUL", b.r("I2FP.F32.U32", cta), const(0, 0x150 + 4 * k))
    cluster = b.r("F2I.U32.TRUNC.NTZ", quotient)
    if name == "clusterid":
        return cluster
    minus = b.r("IADD3", cluster | NEG, RZ, RZ)
    return b.r("IMAD", const(0, 0x144 + 4 * k), minus, cta)
