"""Copies from global memory to shared memory of the cluster, on targets whose hardware only copies to the own CTA.

Forms of ptxas 13.0.88.  A destination in the own CTA is copied to by the hardware; for any other the driver has a
function.  Without multicast the rank in the destination's address decides; with it, the mask: only CTA 0, in a launch
without clusters, is the own CTA.

Arguments: R4:R5 destination, R6:R7 source or tensor map, R8 size or R8 to R12 coordinates, then the mask (R9 or R13)
and the address of the mbarrier (R10:R11 or R14:R15).  The policy is in R12:R13, or for tensors on the stack, at 0, or
at 8 after the im2col offsets, which are halfwords from 0 on.
"""

from collections.abc import Callable
from typing import Final

from orias.isa.operand import K_NONE, PT, RZ, URZ, Opnd, const, imm, is_reg, r, word
from orias.lower.frame.context import Ctx
from orias.ori.ir import OP_COPY, CallInfo
from orias.ptx.ast import Instr
from orias.target import abi, driver

_POLICY: Final = 8
"""Bytes of a policy; the im2col offsets before it take as many."""
_COORDINATES: Final = "20"
_OFFSETS: Final = "6"
"""Bytes of the coordinates and of the im2col offsets as arguments."""
_BARRIER: Final[dict[bool, int]] = {False: abi.ARG_FIRST + 6, True: abi.ARG_FIRST + 10}
"""The register of the mbarrier's address, by whether the copy is of a tensor; the mask is in the register before it."""


def outgoing_bytes(i: Instr) -> int:
    """Stack bytes that the arguments of the driver's function need."""
    if i.sig.name == "cp.async.bulk":
        return 0
    return _POLICY * (1 + (i.sig.mods.get("mode") == "im2col"))


def function_name(i: Instr) -> str:
    """Name of the driver's function for a copy."""
    mods = i.sig.mods
    cast = "multicast" if "multicast" in mods else "unicast"
    if i.sig.name == "cp.async.bulk":
        return f"{driver.COPIES}{cast}"
    return f"{driver.COPIES}tensor_{mods['dim']}_{mods.get('mode', 'tile')}_{cast}"


class ClusterCopy:
    """The operands of a copy.  Shared addresses and the mask are words, `source` and `policy` pairs.

    `middle`: the size, or the coordinates; `offsets`: im2col offsets; `mask`, `policy`: NONE if the copy has none.
    """

    __slots__ = ("barrier", "mask", "middle", "offsets", "policy", "source", "to")

    def __init__(self, to: Opnd, source: Opnd, middle: list[Opnd], barrier: Opnd) -> None:
        self.to = to
        self.source = source
        self.middle = middle
        self.barrier = barrier
        self.offsets: list[Opnd] = []
        self.mask: Opnd = K_NONE
        self.policy: Opnd = K_NONE


def lower_cluster_copy(ctx: Ctx, i: Instr, c: ClusterCopy, own: Callable[[], None]) -> None:
    """Emit the copy: `own` emits that to the own CTA, without multicast."""
    b = ctx.b
    if c.mask == K_NONE:
        rank = b.r("SHF.R.U32.HI", RZ, imm(24), c.to)
        other = b.setp("ISETP.NE.U32.AND", rank, b.r("S2R", word("SR_CgaCtaId")), PT)
    else:
        explicit = b.copy(const(0, ctx.target.word("explicit_cluster")))
        clustered = b.setp("ISETP.EQ.U32.AND", explicit, imm(1), PT)
        other = b.setp("ISETP.NE.U32.OR", _register(ctx, c.mask), imm(1), clustered)
    elsewhere, here, done = ctx.new_block(), ctx.new_block(), ctx.new_block()
    ctx.branch(other, elsewhere, here)
    ctx.start(here)
    own()
    ctx.jump(done)
    ctx.start(elsewhere)
    _call(ctx, i, c)
    ctx.jump(done)
    ctx.start(done)


def _call(ctx: Ctx, i: Instr, c: ClusterCopy) -> None:
    tensor = i.sig.name != "cp.async.bulk"
    barrier = _BARRIER[tensor]
    values = [c.to, imm(0), ctx.lo(c.source), ctx.hi(c.source), *c.middle]
    moves = list(enumerate(values, abi.ARG_FIRST))
    if c.mask != K_NONE:
        moves.append((barrier - 1, c.mask))
    moves += [(barrier, c.barrier), (barrier + 1, imm(0))]
    policy = [RZ, RZ] if c.policy == K_NONE else [ctx.lo(c.policy), ctx.hi(c.policy)]
    if tensor:
        base = ctx.outgoing(0)
        for k, v in enumerate(c.offsets):
            ctx.b.emit("STL.U16", [], [K_NONE, base, URZ, imm(2 * k), _register(ctx, v)])
        at = outgoing_bytes(i) - _POLICY
        for k, v in enumerate(policy):
            ctx.b.emit("STL", [], [K_NONE, base, URZ, imm(at + 4 * k), _register(ctx, v)])
    else:
        moves += [(barrier + 2 + k, v) for k, v in enumerate(policy)]
    name = function_name(i)
    address = ctx.driver_function(name, "", _parameters(i))
    for n, w in moves:
        ctx.b.emit_op(OP_COPY, [r(n)], [w])
    src = [r(n) for n, _ in moves]
    if address != K_NONE:
        src.append(address)
    call = ctx.b.emit("call", [], src)
    kind = ctx.options.extern_call
    ctx.fn.calls[call.uid] = CallInfo(
        name, kind, abi.SCRATCH_R, abi.SCRATCH_P, abi.SCRATCH_UR, abi.SCRATCH_UP, abi.SCRATCH_B
    )


def _parameters(i: Instr) -> list[str]:
    """The types of the function's parameters: destination, source, size or coordinates, barrier, offsets, mask, policy."""
    tensor = i.sig.name != "cp.async.bulk"
    types = ["u64", "u64", _COORDINATES if tensor else "u32", "u64"]
    if i.sig.mods.get("mode") == "im2col":
        types.append(_OFFSETS)
    if "multicast" in i.sig.mods:
        types.append("u32")
    return [*types, "u64"]


def _register(ctx: Ctx, value: Opnd) -> Opnd:
    return value if is_reg(value) else ctx.b.copy(value)
