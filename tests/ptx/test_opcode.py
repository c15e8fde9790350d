"""Opcodes to names, slots and types: the form the lowering reads."""

import pytest

from orias.ptx.opcode import OpcodeError, parse_opcode

CASES = {
    "ld.global.nc.L1::no_allocate.L2::128B.v4.f32": (
        "ld", "space=global nc=nc evict=L1::no_allocate prefetch=L2::128B vec=v4", "f32"),
    "atom.global.add.relaxed.gpu.f32": ("atom", "space=global op=add order=relaxed scope=gpu", "f32"),
    "atom.and.b32": ("atom", "op=and", "b32"),
    "mul.wide.s32": ("mul", "mulsize=wide", "s32"),
    "mad.lo.cc.u32": ("mad", "mulsize=lo cc=cc", "u32"),
    "setp.lt.and.ftz.f32": ("setp", "cmp=lt bool=and ftz=ftz", "f32"),
    "setp.lo.u32": ("setp", "cmp=lo", "u32"),
    "cvt.rn.ftz.sat.f32.f64": ("cvt", "rnd=rn ftz=ftz sat=sat", "f32 f64"),
    "bar.red.popc.u32": ("bar", "op=red bool=popc", "u32"),
    "barrier.cta.sync.aligned": ("barrier", "cta=cta op=sync aligned=aligned", ""),
    "barrier.cluster.arrive.release.aligned": ("barrier.cluster", "op=arrive order=release aligned=aligned", ""),
    "shfl.sync.bfly.b32": ("shfl", "sync=sync op=bfly", "b32"),
    "vote.sync.ballot.b32": ("vote", "sync=sync op=ballot", "b32"),
    "fence.acq_rel.gpu": ("fence", "order=acq_rel scope=gpu", ""),
    "fence.proxy.async.shared::cta": ("fence", "proxied=proxy proxy=async space=shared::cta", ""),
    "membar.gl": ("membar", "scope=gl", ""),
    "cp.async.ca.shared.global.L2::128B": ("cp.async", "cop=ca dst=shared src=global prefetch=L2::128B", ""),
    "shf.l.wrap.b32": ("shf", "dir=l wrap=wrap", "b32"),
    "prmt.b32.f4e": ("prmt", "mode=f4e", "b32"),
    "lop3.or.b32": ("lop3", "bool=or", "b32"),
    "ld.mmio.relaxed.sys.global.u32": ("ld", "mmio=mmio order=mmio scope=sys space=global", "u32"),
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32": (
        "mma", "sync=sync aligned=aligned shape=m16n8k16 alayout=row blayout=col", "f32 f16 f16 f32"),
    "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc": (
        "mma", "sync=sync aligned=aligned shape=m8n8k128 alayout=row blayout=col bool=xor popc=popc", "s32 b1 b1 s32"),
    "wmma.load.a.sync.aligned.row.m16n16k16.global.f16": (
        "wmma.load", "mode=a sync=sync aligned=aligned layout=row shape=m16n16k16 space=global", "f16"),
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16": (
        "ldmatrix", "sync=sync aligned=aligned shape=m8n8 num=x4 trans=trans space=shared", "b16"),
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint": (
        "cp.async.bulk.tensor",
        "dim=2d dst=shared::cluster src=global completion=mbarrier::complete_tx::bytes cache_hint=L2::cache_hint", ""),
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32": (
        "cp.reduce.async.bulk", "dst=global src=shared::cta completion=bulk_group op=add", "u32"),
    "mbarrier.try_wait.parity.shared::cta.b64": ("mbarrier.try_wait", "parity=parity space=shared::cta", "b64"),
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16": (
        "wgmma.mma_async", "sync=sync aligned=aligned shape=m64n64k16", "f32 f16 f16"),
    "tex.2d.v4.f32.s32": ("tex", "dim=2d vec=v4", "f32 s32"),
    "tex.level.a2d.v4.f32.f32": ("tex", "mode=level dim=a2d vec=v4", "f32 f32"),
    "tld4.r.2d.v4.f32.f32": ("tld4", "comp=r dim=2d vec=v4", "f32 f32"),
    "suld.b.1d.v2.b32.trap": ("suld", "mode=b dim=1d vec=v2 clamp=trap", "b32"),
    "vshr.u32.u32.u32.clamp.add": ("vshr", "wrap=clamp op=add", "u32 u32 u32"),
    "vset.u32.u32.lt": ("vset", "cmp=lt", "u32 u32"),
    "cvta.to.global.u64": ("cvta", "to=to space=global", "u64"),
    "createpolicy.fractional.L2::evict_last.L2::evict_first.b64": (
        "createpolicy", "mode=fractional primary=L2::evict_last secondary=L2::evict_first", "b64"),
    "max.NaN.xorsign.abs.f32": ("max", "NaN=NaN xorsign=xorsign abs=abs", "f32"),
    "add.sat.s32": ("add", "sat=sat", "s32"),
    "div.full.ftz.f32": ("div", "rnd=full ftz=ftz", "f32"),
    "brx.idx.uni": ("brx.idx", "uni=uni", ""),
}  # fmt: skip


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("text", CASES)
def test_slots(text: str) -> None:
    name, slots, types = CASES[text]
    sig = parse_opcode(text)
    assert sig.name == name
    assert sig.mods == dict(item.split("=") for item in slots.split())
    assert sig.types == tuple(types.split())
    assert sig.text == text


def test_unknown_words_and_names() -> None:
    with pytest.raises(OpcodeError) as caught:
        parse_opcode("foo.bar")
    assert caught.value.messages == ["Unknown modifier '.bar'", "Not a name of any known instruction: 'foo'"]
    sig = parse_opcode("add.nope.s32.neither")  # the checks report unknown words
    assert (sig.name, sig.types, sig.mods) == ("add", ("s32",), {})


def test_a_name_ends_at_a_blank() -> None:
    assert parse_opcode("mul .wide.s32").name == "mul"
    assert parse_opcode("mad.wide .u32").types == ("u32",)
