"""Bulk copies, tensor copies, their reductions, prefetches and groups; bulk zeros; asynchronous stores to the cluster.

Forms of ptxas 13.0.88.  Operands are in uniform registers, one copy per thread
(:func:`orias.lower.memory.lane_loops.each_thread`):

* UBLKCP to shared memory: pair (destination, mbarrier), pair source address, word with the size in 16-byte units and the
  multicast mask in the upper half, policy pair; to global memory: pair destination address, source; with a byte mask
  that is in the upper half of the word.
* UTMALDG: group (destination, mbarrier, coordinates), pair tensor map, word with the im2col offsets and the multicast mask.
  UTMASTG, UTMAREDG: group (source, coordinates).  UTMAPF: group (coordinates).
* ``.GATHER4`` and ``.SCATTER4`` have a column and four rows as coordinates; ``.W`` and ``.W128`` have the halo in the
  low 11 bits of the word, and the offset above it.
"""

from collections.abc import Callable
from typing import Final

from orias.isa.operand import K_NONE, NOT_PT, PT, RZ, URZ, Opnd, imm, imm_value, is_imm, is_reg, sb
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.memory.asynccopy import groups_left
from orias.lower.memory.atomics import lower_atomic
from orias.lower.memory.cluster_copies import ClusterCopy, lower_cluster_copy
from orias.lower.memory.lane_loops import Pick, each_pair, each_thread, pack_uniform
from orias.lower.memory.loads_stores import lower_st
from orias.lower.memory.memory_operands import address, elements, gather
from orias.lower.memory.ordering import fence, strong
from orias.ptx.ast import O_IMM, TYPE_BITS, Instr, Operand
from orias.ptx.opcode import parse_opcode
from orias.ptx.replaced_text import is_cluster_copy
from orias.target import features

_TYPE: Final[dict[str, str]] = {
    "s32": ".S32", "u64": ".U64", "s64": ".S64", "b64": ".U64", "f16": ".F16.RN", "bf16": ".BF16.RN", "f32": ".F32.RN", "f64": ".F64.RN",
}  # fmt: skip
"""Type modifiers of UBLKRED; u32 and b32 have none."""
_MODES: Final[dict[str, str]] = {
    "tile": "", "im2col": ".IM2COL", "im2col_no_offs": ".IM2COL", "im2col::w": ".W", "im2col::w::128": ".W128",
    "tile::gather4": ".GATHER4", "tile::scatter4": ".SCATTER4",
}  # fmt: skip
"""Modifiers of tensor copies."""
_OFFSETS: Final = ("im2col", "im2col::w", "im2col::w::128")
"""Modes with offsets."""
_SIDES: Final[dict[tuple[str, str], str]] = {
    ("shared::cluster", "global"): ".S.G", ("shared::cta", "global"): ".S.G", ("global", "shared::cta"): ".G.S",
    ("shared::cluster", "shared::cta"): ".S.S",
}  # fmt: skip


def group(at: Opnd) -> list[Opnd]:
    """The address group of an address in a uniform register (the first, if there are several)."""
    return [K_NONE, RZ, at, imm(0)]


def place(ctx: Ctx, o: Operand, space: str) -> Opnd:
    """The address that an operand names: one word for shared memory, two words for global and generic addresses."""
    narrow = space.startswith("shared")
    if o.kind == O_IMM:
        return ctx.b.copy(ctx.src(o, "u32"))
    parts = address(ctx, o, "shared" if narrow else space)
    base, offset = parts[1], parts[3]
    if offset == imm(0):
        return base
    if narrow:
        return ctx.b.r("IADD3", base, offset, RZ)
    return ctx.b.r("iadd64", base, offset, width=2)


def _pair(ctx: Ctx, pick: Pick, value: Opnd) -> Opnd:
    return pack_uniform(ctx, pick(ctx.lo(value)), pick(ctx.hi(value)))


def _policy(ctx: Ctx, i: Instr) -> Opnd:
    """The policy, which is the last operand, or the last before the byte mask; NONE without a cache hint."""
    if "cache_hint" not in i.sig.mods:
        return K_NONE
    value = ctx.src(i.ops[-2 if "cp_mask" in i.sig.mods else -1], "b64")
    return value if is_reg(value) else ctx.b.copy(value, 2)


def _size(ctx: Ctx, o: Operand, mask: Operand | None) -> Opnd:
    """The word with a size in bytes, as 16-byte units, and a multicast mask in the upper half."""
    size = ctx.src(o, "u32")
    units = ctx.b.r("SHF.R.U32.HI", RZ, imm(4), size)
    high = RZ if mask is None else ctx.src(mask, "b16")
    return ctx.b.r("PRMT", units, imm(0x5410), high)


def _emit(ctx: Ctx, policy: Opnd, body: Callable[[Pick], tuple[str, list[Opnd]]]) -> None:
    """Emit the copies, and end the guarded code."""
    _copies(ctx, policy, body)
    ctx.end_guarded()


def _copies(ctx: Ctx, policy: Opnd, body: Callable[[Pick], tuple[str, list[Opnd]]]) -> None:
    """Emit one copy per thread: `body` gives the operation and its sources, which the policy follows."""

    def one(pick: Pick) -> None:
        name, src = body(pick)
        if policy != K_NONE:
            src = [*src, _pair(ctx, pick, policy)]
            if name.startswith("UTMA"):
                name += ctx.target.spelling("described_map")
        ctx.b.emit(name, [], src)

    each_thread(ctx, one)


@lowers(
    "cp.async.bulk", "cp.reduce.async.bulk", "multimem.cp.async.bulk", "multimem.cp.reduce.async.bulk",
    types="any,int,f16,bf16,f32,f64",
)  # fmt: skip
def lower_bulk(ctx: Ctx, i: Instr) -> None:
    """cp.async.bulk and cp.reduce.async.bulk between global and shared memory and within the cluster, and multimem forms.

    ``.ignore_oob`` allows the copy to leave bytes out; like ptxas 13.5.37, the code copies all.
    """
    mods = i.sig.mods
    sides = _SIDES.get((mods.get("dst", ""), mods.get("src", "")))
    if sides is None:
        raise ctx.unsupported(f"'{i.sig.text}'")
    ctx.begin_guarded()
    ops = i.ops
    to, source = place(ctx, ops[0], mods["dst"]), place(ctx, ops[1], mods["src"])
    masked = "multicast" in mods or "cp_mask" in mods
    count = _size(ctx, ops[2], ops[-1 if "cp_mask" in mods else 4] if masked else None)
    barrier = place(ctx, ops[5 if "ignore_oob" in mods else 3], "shared") if sides != ".G.S" else K_NONE
    policy = _policy(ctx, i)
    if "op" in mods:
        name = f"UBLKRED{sides}.{mods['op'].upper()}{_TYPE.get(i.sig.types[0], '')}"
        if i.sig.name.startswith("multimem"):
            name += ".STRONG.SYS"
    else:
        name = f"UBLKCP{sides}{'.MULTICAST' if 'multicast' in mods else ''}{'.DST_G_BYTE_MASK' if 'cp_mask' in mods else ''}"
        if mods.get("order") == "relaxed":
            name += strong(ctx, mods.get("scope", "sys"))

    def body(pick: Pick) -> tuple[str, list[Opnd]]:
        first = _pair(ctx, pick, to) if barrier == K_NONE else pack_uniform(ctx, pick(to), pick(barrier))
        second = _pair(ctx, pick, source) if sides == ".S.G" else pick(source)
        return name, [*group(first), *group(second), pick(count)]

    if is_cluster_copy(i) and ctx.target.has(features.DRIVER_CLUSTER_COPIES):
        copy = ClusterCopy(to, source, [ctx.src(ops[2], "u32")], barrier)
        copy.policy = policy
        if "multicast" in mods:
            name = f"UBLKCP{sides}"
            copy.mask = ctx.src(ops[4], "b16")
            count = _size(ctx, ops[2], None)
        lower_cluster_copy(ctx, i, copy, lambda: _copies(ctx, policy, body))
        ctx.end_guarded()
    else:
        _emit(ctx, policy, body)


@lowers("cp.async.bulk.prefetch", types="any")
def lower_bulk_prefetch(ctx: Ctx, i: Instr) -> None:
    """cp.async.bulk.prefetch.L2."""
    ctx.begin_guarded()
    source, count = place(ctx, i.ops[0], "global"), _size(ctx, i.ops[1], None)

    def body(pick: Pick) -> tuple[str, list[Opnd]]:
        return "UBLKPF.L2", [*group(_pair(ctx, pick, source)), pick(count)]

    _emit(ctx, _policy(ctx, i), body)


def _coordinates(ctx: Ctx, o: Operand) -> list[Opnd]:
    return [ctx.src(e, "u32") for e in o.elems[0].elems]


def _offsets(ctx: Ctx, o: Operand, mode: str) -> Opnd:
    """The im2col offsets in the low half of a word: one of 16 bits, two of 8, or three of 5; of modes W 11 bits and 5."""
    parts = [ctx.src(e, "b16") for e in elements(o)]
    if mode != "im2col":
        return ctx.b.r("LEA", parts[1], _held(ctx, parts[0]), imm(11))
    if len(parts) == 1:
        return parts[0] if is_reg(parts[0]) else ctx.b.copy(parts[0])
    if len(parts) == 2:
        return ctx.b.r("PRMT", parts[0], imm(0x40), parts[1])
    low = ctx.b.r("LEA", parts[1], parts[0], imm(5))
    return ctx.b.r("LEA", parts[2], low, imm(10))


def _held(ctx: Ctx, value: Opnd) -> Opnd:
    return value if is_reg(value) else ctx.b.copy(value)


@lowers("cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor", types="any")
def lower_tensor(ctx: Ctx, i: Instr) -> None:
    """Tensor copies from and to global memory, and reductions to it."""
    mods = i.sig.mods
    tail = f".{mods['dim'].upper()}{_MODES[mods.get('mode', 'tile')]}"
    ctx.begin_guarded()
    if mods["dst"] == "global":
        table, source = place(ctx, i.ops[0], ""), place(ctx, i.ops[1], "shared")
        at = [source, *_coordinates(ctx, i.ops[0])]
        name = "UTMASTG" + tail if i.sig.name == "cp.async.bulk.tensor" else f"UTMAREDG{tail}.{mods['op'].upper()}"
        extra = K_NONE
    else:
        to, table, barrier = place(ctx, i.ops[0], "shared"), place(ctx, i.ops[1], ""), place(ctx, i.ops[2], "shared")
        at = [to, barrier, *_coordinates(ctx, i.ops[1])]
        pair = ".2CTA" if mods.get("cta_group") == "cta_group::2" else ""
        if is_cluster_copy(i) and ctx.target.has(features.DRIVER_CLUSTER_COPIES):
            _to_cluster(ctx, i, at, table, f"UTMALDG{tail}{pair}")
            return
        name = f"UTMALDG{tail}{'.MULTICAST' if 'multicast' in mods else ''}{pair}"
        extra = _copy_word(ctx, i, "multicast" in mods)
    _tensor(ctx, i, name, at, table, extra)
    ctx.end_guarded()


def _to_cluster(ctx: Ctx, i: Instr, at: list[Opnd], table: Opnd, name: str) -> None:
    """A copy that the driver does where the destination is not in the own CTA; `name` is that of the hardware's copy."""
    mods = i.sig.mods
    copy = ClusterCopy(at[0], table, at[2:], at[1])
    rest = i.ops[3:]
    if mods.get("mode") in _OFFSETS:
        copy.offsets = [ctx.src(e, "b16") for e in elements(rest.pop(0))]
    if "multicast" in mods:
        copy.mask = ctx.src(rest[0], "b16")
    copy.policy = _policy(ctx, i)
    extra = _copy_word(ctx, i, False)
    lower_cluster_copy(ctx, i, copy, lambda: _tensor(ctx, i, name, at, table, extra))
    ctx.end_guarded()


def _copy_word(ctx: Ctx, i: Instr, multicast: bool) -> Opnd:
    """The word with im2col offsets and, with `multicast`, the mask; NONE if the copy has neither."""
    rest = i.ops[3:]
    low: Opnd = K_NONE
    mode = i.sig.mods.get("mode", "")
    if mode in _OFFSETS:
        low = _offsets(ctx, rest.pop(0), mode)
    if multicast:
        return ctx.b.r("PRMT", RZ if low == K_NONE else low, imm(0x5410), ctx.src(rest[0], "b16"))
    return K_NONE if low == K_NONE else ctx.b.r("PRMT", low, imm(0x5410), RZ)


def _tensor(ctx: Ctx, i: Instr, name: str, at: list[Opnd], table: Opnd, extra: Opnd) -> None:
    def body(pick: Pick) -> tuple[str, list[Opnd]]:
        src = [*group(pack_uniform(ctx, *[pick(w) for w in at])), *group(_pair(ctx, pick, table))]
        return name, src if extra == K_NONE else [*src, pick(extra)]

    _copies(ctx, _policy(ctx, i), body)


@lowers("cp.async.bulk.prefetch.tensor", types="any")
def lower_tensor_prefetch(ctx: Ctx, i: Instr) -> None:
    """cp.async.bulk.prefetch.tensor."""
    mode = i.sig.mods.get("mode", "tile")
    ctx.begin_guarded()
    table = place(ctx, i.ops[0], "")
    at = _coordinates(ctx, i.ops[0])
    extra = K_NONE
    if mode in _OFFSETS:
        extra = ctx.b.r("PRMT", _offsets(ctx, i.ops[1], mode), imm(0x5410), RZ)
    _tensor(ctx, i, f"UTMAPF.L2.{i.sig.mods['dim'].upper()}{_MODES[mode]}", at, table, extra)
    ctx.end_guarded()


@lowers("cp.async.bulk.commit_group", types="any")
def lower_bulk_commit(ctx: Ctx, i: Instr) -> None:
    """cp.async.bulk.commit_group."""
    ctx.begin_guarded()
    ctx.b.emit("UTMACMDFLUSH", [], [])
    ctx.end_guarded()


@lowers("cp.async.bulk.wait_group", types="any")
def lower_bulk_wait(ctx: Ctx, i: Instr) -> None:
    """cp.async.bulk.wait_group: waits for the copies, or (.read) only for their reads of the source."""
    ctx.b.emit("DEPBAR.LE", [], [sb(0), imm(groups_left(i.ops[0].value))], ctx.guard)
    if "read" not in i.sig.mods:
        ctx.b.emit("CCTL.IVALL", [], [], ctx.guard)


@lowers("st.bulk", types="any")
def lower_st_bulk(ctx: Ctx, i: Instr) -> None:
    """st.bulk: UMEMSETS writes zeros in units of 8 bytes; of a generic address it takes the low word, as in ptxas's code."""
    space = i.sig.mods.get("space", "")
    where = place(ctx, i.ops[0], space)
    if space == "":
        where = ctx.lo(where)
    size = ctx.src(i.ops[1], "b64")
    if is_imm(size):
        count = imm(imm_value(size) >> 3)
    else:
        count = ctx.b.r("SHF.R.U64", ctx.lo(size), imm(3), ctx.hi(size))
    ctx.begin_guarded()

    def store(at: Opnd, units: Opnd) -> None:
        ctx.b.emit("UMEMSETS.64", [], [*group(at), URZ, units])

    each_pair(ctx, where, count, store)
    ctx.end_guarded()


@lowers("clusterlaunchcontrol.query_cancel", types="any")
def lower_query_cancel(ctx: Ctx, i: Instr) -> None:
    """The parts of an answer to try_cancel: bit 64 says that it succeeded, x is its first word, y and z are the second."""
    query = i.sig.mods["query"]
    answer = ctx.src(i.ops[1], "b128")
    b = ctx.b
    if query == "is_canceled":
        ok = b.r("LOP3.LUT", ctx.word(answer, 2), imm(1), RZ, imm(0xC0), NOT_PT)
        ctx.write_pred(i.ops[0], b.setp("ISETP.NE.U32.AND", ok, RZ, PT))
        return
    first, second = ctx.word(answer, 0), ctx.word(answer, 1)
    for k, d in enumerate(elements(i.ops[0])[:3]):
        axis = "xyz".index(query[-1]) if "::" in query else k
        if axis == 0:
            ctx.write(d, first)
        elif axis == 1:
            ctx.write(d, b.r("LOP3.LUT", second, imm(0xFFFF), RZ, imm(0xC0), NOT_PT))
        else:
            ctx.write(d, b.r("SHF.R.U32.HI", RZ, imm(16), second))


def _both(ctx: Ctx, i: Instr) -> Opnd:
    """The addresses of destination and mbarrier as a pair; of generic addresses the low words."""
    space = i.sig.mods.get("space", "")
    return ctx.b.pack(*[ctx.lo(p) if space == "" else p for p in (place(ctx, i.ops[k], space) for k in (0, 2))])


@lowers("st.async", "multimem.st.async", types="any")
def lower_st_async(ctx: Ctx, i: Instr) -> None:
    """st.async to shared memory of the cluster: STAS with the address and the mbarrier in a pair.

    Generic addresses (no space in the opcode) are used by their low words, as in code of ptxas 13.0.88.
    """
    type_ = i.sig.types[-1]
    count = len(elements(i.ops[1]))
    bits = TYPE_BITS[type_] * count
    if "completion" not in i.sig.mods or len(i.ops) < 3:
        _to_global(ctx, i, type_, "ST")
        return
    if bits not in (32, 64, 128):
        raise ctx.unsupported(f"'{i.sig.text}' on {ctx.target.name}")
    value = gather(ctx, i.ops[1], type_)
    value = value if is_reg(value) else ctx.b.copy(value, bits // 32)
    where = _both(ctx, i)
    size = {32: "", 64: ".64", 128: ".128"}[bits]
    ctx.b.emit("STAS" + size, [], [K_NONE, where, URZ, imm(0), value], ctx.guard)


@lowers("red.async", "multimem.red.async", types="int")
def lower_red_async(ctx: Ctx, i: Instr) -> None:
    """red.async to shared memory of the cluster: REDAS; addresses as for st.async."""
    type_ = i.sig.types[-1]
    if "completion" not in i.sig.mods or len(i.ops) < 3:
        _to_global(ctx, i, type_, "RED")
        return
    value = ctx.src(i.ops[1], type_)
    value = value if is_reg(value) else ctx.b.copy(value, TYPE_BITS[type_] // 32)
    where = _both(ctx, i)
    name = f"REDAS.{i.sig.mods['op'].upper()}{'.S32' if type_ == 's32' and i.sig.mods['op'] in ('min', 'max') else ''}"
    ctx.b.emit(name + (".64" if TYPE_BITS[type_] == 64 else ""), [], [K_NONE, where, URZ, imm(0), value], ctx.guard)


def _ordinary(ctx: Ctx, i: Instr, type_: str, kind: str) -> None:
    """The store or reduction of PTX that does at once what an asynchronous one may do later."""
    mods = i.sig.mods
    words = ["release", mods["scope"]] if "scope" in mods else []
    words += [mods[slot] for slot in ("space", "op") if slot in mods]
    ordinary = Instr(parse_opcode(".".join([kind.lower(), *words, type_])), i.ops, i.pred, i.line, i.column)
    (lower_atomic if kind == "RED" else lower_st)(ctx, ordinary)


def _to_global(ctx: Ctx, i: Instr, type_: str, kind: str) -> None:
    """st.async and red.async to global memory, which release: USTGR, UREDGR; or an ordinary store or reduction after a fence.

    Weak stores, narrow ones and operations other than add are the ordinary instructions: ptxas 13.0.88 has no instruction at
    all for weak stores and for MMIO at GPU scope, and adds for every operation.
    """
    mods = i.sig.mods
    scope, mmio = mods.get("scope", ""), "mmio" in mods
    if i.sig.name in ("st.async", "red.async") and (
        not scope or TYPE_BITS[type_] < 32 or (kind == "RED" and mods["op"] != "add")
    ):
        _ordinary(ctx, i, type_, kind)
        return
    if scope not in ("gpu", "sys"):
        raise ctx.unsupported(f"'{i.sig.text}' on {ctx.target.name}")
    if mmio:
        scope = "sys"
    wide = TYPE_BITS[type_] == 64
    size = ".64" if wide else ".S32" if kind == "RED" and type_ == "s32" else ""
    kind += "G.E.ADD" if kind == "RED" else "G.E"
    strength = f".{'MMIO' if mmio else 'STRONG'}.{scope.upper()}"
    ctx.begin_guarded()
    value = ctx.src(i.ops[1], type_)
    value = value if is_reg(value) else ctx.b.copy(value, TYPE_BITS[type_] // 32)
    if not ctx.target.has(features.UNIFORM_GLOBAL_STORES):
        fence(ctx, "ALL", scope, release_only=True)
        ctx.b.emit(f"{kind}{size}{strength}", [], [*address(ctx, i.ops[0], "global"), value])
        ctx.end_guarded()
        return
    where = place(ctx, i.ops[0], "global")
    ctx.b.emit("MEMBAR.ALL.CTA", [], [])
    name = f"U{kind.replace('G.E', 'GR.E')}.NA{size}{strength}"

    def one(pick: Pick) -> None:
        data = _pair(ctx, pick, value) if wide else pick(value)
        ctx.b.emit(name, [], [*group(_pair(ctx, pick, where)), data])

    each_thread(ctx, one)
    ctx.end_guarded()
