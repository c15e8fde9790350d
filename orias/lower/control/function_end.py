"""The end of a function: results in their places, the frame given back, RET or EXIT."""

from orias.isa.operand import K_NONE, Opnd, r
from orias.lower.control.argument_places import places, returns_in_memory
from orias.lower.control.stack import restore
from orias.lower.frame import params
from orias.lower.frame.context import Ctx
from orias.lower.frame.data_layout import align_up, var_align
from orias.lower.frame.registers import read_words, whole
from orias.ori.ir import OP_COPY, OP_EXIT
from orias.ptx.ast import Function
from orias.target import abi, features


def emit_return(ctx: Ctx, f: Function, kind: str) -> None:
    """Copy results to their ABI places and end the block with RET (EXIT in a kernel)."""
    if kind == "entry":
        ctx.b.emit_op(OP_EXIT, [], [])
        return
    values: list[tuple[int, Opnd]] = []
    in_memory = returns_in_memory(f)
    where, _ = places(f.rets) if not in_memory else ([], 0)
    if in_memory:
        base = ctx.get(ctx.state.result_key)
        at = 0
        for v in f.rets:
            at = align_up(at, var_align(v))
            # The memory that the caller provides has the alignment of the type.
            there = params.Memory(base, at, 0 if var_align(v) >= 8 else -1)
            slot = params.in_frame(ctx, v)
            if slot is not None:
                params.copy_memory(ctx, slot, there, params.word_count(v))
            else:
                params.write_memory(ctx, there, params.get_words(ctx, v))
            at += v.size
    for v, p in zip(f.rets, where, strict=not in_memory):
        if v.space == "reg":
            words = [w for o in whole(v) for w in read_words(ctx, o, v.type)]
        else:
            words = params.get_words(ctx, v)
        values.extend((p.reg + k, w) for k, w in enumerate(words))
    near = kind == "helper" and not ctx.state.apart
    ra = abi.HELPER_RETURN_ADDRESS if near else abi.RETURN_ADDRESS
    back = ctx.get(ctx.state.return_key)
    values.append((ra, ctx.lo(back)))
    values.append((ra + 1, ctx.hi(back)))
    if ctx.state.frame_base != K_NONE:
        restore(ctx)
    for n, w in values:
        ctx.b.emit_op(OP_COPY, [r(n)], [w])
    order = [r(ra), r(ra + 1)] + [r(n) for n, _ in values if n not in (ra, ra + 1)]
    # The linker moves the code of an object that has a Mercury form, and knows return addresses as relocations only.
    moved = ctx.options.relocatable and ctx.target.has(features.MERCURY_LAYOUT)
    absolute = moved if near else ctx.options.own_sections
    ctx.b.emit("RET.ABS.NODEC" if absolute else "RET.REL.NODEC", [], order)
