"""Special registers: the system register or constant-bank word that holds each.

Source: ``docs/facts/targets.md``, "Special registers".
"""

from typing import Final

from orias.isa.operand import NEG, NOT_PT, PT, RZ, Opnd, const, imm, word
from orias.lower.frame.emitter import Emitter
from orias.target import features

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
"""Read with S2R; tid and ctaid have the component after the name."""

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

_BANK: Final[dict[str, tuple[int, str]]] = {
    "ntid": (1, "ntid"),
    "nctaid": (1, "nctaid"),
    "nsmid": (1, "nsmid"),
    "dynamic_smem_size": (1, "dynamic_shared"),
    "gridid": (2, "grid_id"),
    "current_graph_exec": (2, "graph_exec"),
    "reserved_smem_offset_end": (1, "reserved_shared_end"),
    "reserved_smem_offset_1": (1, "reserved_shared_1"),
    "nclusterid": (1, "cluster_count"),
    "cluster_nctaid": (1, "cluster_size"),
    "cluster_nctarank": (1, "cluster_ranks"),
    "is_explicit_cluster": (1, "explicit_cluster"),
}
"""Name -> (words, name of the word in constant bank 0); three-component registers hold consecutive words."""
_LOCALITY: Final[dict[str, int]] = {"locality_domain_id": 0, "locality_domain_supplemental_sm": 2}
"""Name -> number of the bit in an entry (docs/newer-ptx.md: the second is at bit 2 of the shift, a set bit 1)."""
_FIRST_OF_UPPER: Final = 16
"""The environment registers are two ranges of consecutive words."""


def read_special(ctx: Emitter, name: str, comp: str) -> Opnd:
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
    t = ctx.target
    row = _BANK.get(name)
    if row is not None and t.has_word(row[1]):
        return bank_word(ctx, row[1], 4 * k, row[0])
    if name.startswith("envreg"):
        number = int(name[6:])
        if number < _FIRST_OF_UPPER:
            return bank_word(ctx, "environment_0", 4 * number)
        return bank_word(ctx, "environment_16", 4 * (number - _FIRST_OF_UPPER))
    if name == "total_smem_size":
        return _usable_shared(ctx) if t.has_word("system_shared_size") else b.r("S2R", word("SR_SMEMSZ"))
    if name == "aggr_smem_size" and t.has_word("cluster_shared_limit"):
        return b.r(ctx.min_max(False), b.r("S2R", word("SR_SMEMSZ")), _source(ctx, "cluster_shared_limit", 0), PT)
    if name in ("clusterid", "cluster_ctaid") and t.has(features.CLUSTERS):
        return _cluster(ctx, name, k)
    if name.startswith("reserved_smem_offset_") and t.has_word("system_shared_size"):
        if t.number("system_shared"):
            if name.endswith("_0"):
                return imm(t.number("reserved_offset"))
            return imm(t.number("system_shared") if name.endswith("cap") else 0)
        return b.r("S2R", word("SR_SMEMSZ")) if name.endswith("cap") else _usable_shared(ctx)
    if name == "warpid":
        return _bits(ctx, "SR_VIRTID", 8, 7)
    if name in _LOCALITY:
        return _locality(ctx, _LOCALITY[name])
    if name == "nwarpid":
        if not t.has(features.WARP_COUNT_REGISTER):
            return imm(t.number("threads_per_sm") // 32)
        return _bits(ctx, "SR_VIRTCFG", 8, 8)
    if name == "cluster_ctarank" and t.has(features.CLUSTERS):
        return b.r("S2R", word("SR_CgaCtaId"))
    raise ctx.unsupported(f"Special register '%{name}{'.' + comp if comp else ''}'")


def _bits(ctx: Emitter, name: str, low: int, count: int) -> Opnd:
    """Bits of a special register, from `low` on; in one piece where a capsule states the read so (:mod:`orias.schedule.joined_words`)."""
    r = ctx.b.r
    if ctx.target.has(features.MERCURY_LAYOUT):
        return r("specialbits", word(name), imm(low), imm(count))
    return r("SGXT.U32", r("SHF.R.U32.HI", RZ, imm(low), r("S2R", word(name))), imm(count))


def _locality(ctx: Emitter, bit: int) -> Opnd:
    """A bit of this SM's entry (four bits) in the driver's table of locality domains; 0 where an SM has no such table."""
    if not ctx.target.has_word("locality_domains"):
        return ctx.b.copy(imm(0))
    r = ctx.b.r
    number = r("S2R", word("SR_VIRTID"))
    at = r("LOP3.LUT", r("SHF.R.U32.HI", RZ, imm(22), number), imm(0x7F), RZ, imm(0xC0), NOT_PT)
    pair = r("LDC.U8", const(0, ctx.target.word("locality_domains")), at)
    half = r("LOP3.LUT", r("SHF.R.U32.HI", RZ, imm(19), number), imm(4), RZ, imm(0xC0), NOT_PT)
    if bit:
        half = r("LOP3.LUT", half, imm(bit), RZ, imm(0xFC), NOT_PT)
    return r("LOP3.LUT", r("SHF.R.U32.HI", RZ, half, pair), imm(1), RZ, imm(0xC0), NOT_PT)


def bank_word(ctx: Emitter, name: str, add: int = 0, words: int = 1) -> Opnd:
    """A word of constant bank 0, by its name in the target's table and an offset in bytes, or two words."""
    return ctx.b.copy(_source(ctx, name, add), words)


def _source(ctx: Emitter, name: str, add: int) -> Opnd:
    """The constant as an operand; or, where the word moves with SR_CgaSize, a register that is loaded from its place."""
    t = ctx.target
    if not t.moves_with_cluster(name):
        return const(0, t.word(name) + add)
    place = const(0, t.word_base(name) + add)
    return ctx.b.r("movedword", word("SR_CgaSize"), imm(-t.number("cluster_step")), place)


def _usable_shared(ctx: Emitter) -> Opnd:
    """Bytes of the CTA's shared memory without the system's part."""
    size = ctx.b.r("S2R", word("SR_SMEMSZ"))
    return ctx.b.r("IADD3", size, const(0, ctx.target.word("system_shared_size")) | NEG, RZ)


def _cluster(ctx: Emitter, name: str, k: int) -> Opnd:
    """Cluster number along axis `k`, by a reciprocal like ptxas; or the remainder, the CTA's number in the cluster."""
    b = ctx.b
    cta = b.r("S2R", word(f"SR_CTAID.{_COMP[k].upper()}"))
    quotient = b.r("FMUL", b.r("I2FP.F32.U32", cta), _source(ctx, "cluster_reciprocal", 4 * k))
    cluster = b.r("F2I.U32.TRUNC.NTZ", quotient)
    if name == "clusterid":
        return cluster
    minus = b.r("IADD3", cluster | NEG, RZ, RZ)
    return b.r("IMAD", _source(ctx, "cluster_size", 4 * k), minus, cta)
