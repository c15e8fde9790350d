"""call: direct calls, indirect calls, and calls of driver functions.  :mod:`orias.target.abi` has the convention."""

from orias.diag import Unsupported
from orias.isa.operand import K_NONE, Opnd, const, r
from orias.lower.control.argument_places import callee_of, first_argument, is_variadic, places, returns_in_memory
from orias.lower.frame import params
from orias.lower.frame.context import Ctx
from orias.lower.frame.data_layout import align_up, prototype, var_align
from orias.lower.frame.registers import read_words, write_words
from orias.lower.frame.registry import lowers
from orias.ori.ir import OP_COPY, CallInfo
from orias.ptx.ast import O_FUNC, O_REG, O_SINK, Function, Instr, Operand, Var
from orias.target import abi


def _argument_words(ctx: Ctx, o: Operand, formal: Var) -> list[Opnd]:
    """The words of one argument: a .param variable, a register or an immediate."""
    var = o.var
    if o.kind != O_REG and var is not None and var.space == "param":
        return params.get_words(ctx, var)
    return read_words(ctx, o, formal.type)


@lowers("call", types="any")
def lower_call(ctx: Ctx, i: Instr) -> None:
    """Lower one call: arguments to their ABI places, the call, results from their places."""
    signature = callee_of(i)
    params.refuse_huge(*signature.params, *signature.rets)
    formals = signature.params
    if formals and is_variadic(formals[-1]) and len(i.args) == len(formals) - 1:
        formals = formals[:-1]
    if len(i.args) != len(formals) or len(i.rets) != len(signature.rets):
        raise Unsupported(f"Call of '{signature.name}': number of arguments differs from the prototype", i.line)
    ctx.begin_guarded()
    in_memory = returns_in_memory(signature)
    where, _ = places(formals, first_argument(signature))
    values = [_argument_words(ctx, o, v) for o, v in zip(i.args, formals, strict=True)]
    target, kind, address = _target(ctx, i)
    moves: list[tuple[int, Opnd]] = []
    area = -1
    if in_memory:
        area = ctx.state.frame_room(sum(v.size for v in signature.rets), max(16, ctx.state.outgoing_align))
        moves.append((abi.ARG_FIRST, ctx.frame(area)))
    for formal, place, words in zip(formals, where, values, strict=True):
        if len(words) != place.words and not is_variadic(formal):
            raise Unsupported(f"Call of '{signature.name}': size of an argument differs from the prototype", i.line)
        if place.reg >= 0:
            moves.extend((place.reg + k, w) for k, w in enumerate(words))
            continue
        params.write_memory(ctx, params.outgoing_memory(ctx, place.stack), words)
    src = [r(n) for n, _ in moves]
    for n, w in moves:
        ctx.b.emit_op(OP_COPY, [r(n)], [w])
    if address != K_NONE:
        src.append(address)
    back, _ = places(signature.rets) if not in_memory else ([], 0)
    results = [r(p.reg + k) for p in back for k in range(p.words)]
    inst = ctx.b.emit("call", list(results), src)
    ctx.fn.calls[inst.uid] = CallInfo(
        target, kind, abi.SCRATCH_R, abi.SCRATCH_P, abi.SCRATCH_UR, abi.SCRATCH_UP, abi.SCRATCH_B
    )
    got = [ctx.b.copy(p) for p in results]
    at = 0
    if in_memory:
        given = params.frame_memory(ctx, area)
        for o, v in zip(i.rets, signature.rets, strict=True):
            at = align_up(at, var_align(v))
            _result(ctx, o, v, params.read_memory(ctx, given.later(at), params.word_count(v)))
            at += v.size
    for o, p, v in zip(i.rets, back, signature.rets, strict=not in_memory):
        _result(ctx, o, v, got[at : at + p.words])
        at += p.words
    if "noreturn" in signature.directives:
        ctx.b.emit("EXIT", [], [])
        if not ctx.leave_guarded():
            ctx.state.dead = True
        return
    ctx.end_guarded()


def _result(ctx: Ctx, o: Operand, formal: Var, words: list[Opnd]) -> None:
    if o.kind == O_SINK:
        return
    if o.kind != O_REG and o.var is not None and o.var.space == "param":
        params.set_words(ctx, o.var, words[: params.word_count(o.var)])
        return
    write_words(ctx, o, formal.type, words)


def _target(ctx: Ctx, i: Instr) -> tuple[str | None, str, Opnd]:
    """(target name, kind, address pair or NONE) of a call."""
    o = i.ops[0]
    kernel = ctx.module.kernel
    if o.kind == O_FUNC and o.func is not None:
        callee: Function = ctx.module.functions.definition(o.func)
        if callee.body is None:
            slot = ctx.module.need_extern(callee, i.line)
            kernel.edges.append((ctx.fn.name, callee.name))
            address = K_NONE if slot < 0 else ctx.b.copy(const(4, slot), 2)
            return callee.name, ctx.options.extern_call, address
        name = ctx.module.copy_name(callee)
        if callee is not o.func and ctx.options.relocatable:
            kernel.edges.append((ctx.fn.name, o.func.name))
        kernel.edges.append((ctx.fn.name, name))
        return name, "abi", K_NONE
    kernel.indirect_calls = True
    if ctx.options.own_sections:
        ctx.module.program.indirect_calls.append((ctx.fn.name, prototype(callee_of(i))))
    address = ctx.src(o, "b64")
    if ctx.module.functions.numbers:
        address = ctx.b.r("LDC.64", const(2, 0), ctx.lo(address), width=2)
    return None, "abi", address
