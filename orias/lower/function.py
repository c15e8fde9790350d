"""Lowers one PTX function to one Ori function: entry, statements, exits."""

from orias.diag import Unsupported
from orias.isa.operand import INV, NOT_PT, PT, Opnd, r
from orias.lower.control import stack
from orias.lower.control.argument_places import (
    first_argument,
    is_variadic,
    outgoing_align,
    outgoing_bytes,
    places,
    returns_in_memory,
)
from orias.lower.control.code_labels import label_block, note_branch
from orias.lower.control.function_end import emit_return
from orias.lower.families import lookup
from orias.lower.frame import params
from orias.lower.frame.addresses import open_shared_window
from orias.lower.frame.context import Ctx
from orias.lower.frame.data_layout import align_up
from orias.lower.frame.function_state import FuncState
from orias.lower.frame.function_summary import branch_targets
from orias.lower.frame.module_state import ModuleState
from orias.lower.frame.registers import expand_vectors, whole, write_words
from orias.lower.memory import cluster_copies
from orias.lower.memory.access_checks import put_checks
from orias.lower.memory.view_fences import put_view_fences
from orias.lower.texture import gradients
from orias.ori.ir import OP_COPY, OP_NOP, OP_PACK, OP_PHI, Block, Func
from orias.ori.renumber import renumber
from orias.ptx.ast import O_LABEL, Function, Instr, Label, Loc, Pragma, Var
from orias.target import abi, features


def lower_function(module: ModuleState, f: Function, name: str, kind: str) -> Func:
    """Lower `f` as ``entry``, ``func`` or ``helper`` under the symbol `name`; the result is in SSA."""
    assert f.body is not None
    for directive in ("abi_preserve", "abi_preserve_control"):
        # The directive fixes how many registers a callee preserves; within one module callers and callees agree
        # without it.
        if directive in f.directives and module.options.relocatable:
            raise Unsupported(f"Directive '.{directive}' in a relocatable module is not supported yet", f.line)
    fn = Func(name, module.target, kind)
    state = FuncState()
    state.apart = name in module.helpers_apart
    ctx = Ctx(fn, module, module.options, state)
    if module.options.debug and kind != "helper":
        ctx.ssa.names = {}
    ctx.ssa_declare(f.regs)
    state.blocks = [None] * len(f.labels)
    facts = module.functions.facts(f)
    if kind != "entry":
        params.refuse_huge(*f.params, *f.rets)
    params.refuse_huge(*[v for v in f.variables if v.space == "param"])
    state.refs = list(facts.branches)
    state.outgoing = max((outgoing_bytes(i) for i in facts.calls), default=0)
    state.outgoing_align = max([state.outgoing_align, *map(outgoing_align, facts.calls)])
    if module.target.has(features.DRIVER_GRADIENTS):
        called = [i for i in facts.gradients if not gradients.plain(i)]
        state.outgoing = max([state.outgoing, *(gradients.outgoing_bytes(i) for i in called)])
    if module.target.has(features.DRIVER_CLUSTER_COPIES):
        state.outgoing = max([state.outgoing, *(cluster_copies.outgoing_bytes(i) for i in facts.copies)])
    in_memory = facts.taken
    _layout_frame(f, state, in_memory, kind)
    ctx.line = f.line
    ctx.b.loc = f.line
    if facts.alloca:
        stack.begin(ctx)
    open_shared_window(ctx, f)
    if kind != "entry":
        _receive(ctx, f, in_memory, kind)
    for v in f.variables:
        if v.space == "param":
            params.prepare(ctx, v, v in in_memory)
    _body(ctx, f, kind)
    ctx.ssa.finish(fn.blocks)
    if ctx.ssa.names is not None:
        variables = {v.index * 8: (v.name, v.type) for v in f.regs if v.vec == 1}
        for v in f.regs:
            if v.vec > 1:
                variables.update({v.index * 8 + 1 + k: (f"{v.name}.{k}", f"v{v.vec}.{v.type}") for k in range(v.vec)})
        for value, keys in ctx.ssa.names.items():
            fn.names[value] = [variables[key] for key in keys if key in variables]
        fn.variables = module.variable_registers(f)
        for line, assigned in state.assigned.items():
            fn.assigned[line] = sorted(variables[key][0] for key in assigned if key in variables)
        for v in state.frame_offset:
            module.kernel.frame_places[v.name] = state.frame_offset[v]
    fn.frame_fixed = align_up(state.frame_top, 8)
    fn.frame_align = state.frame_align
    if not state.leaves_variables:
        fn.frame_variables = [(at, v.size) for v, at in state.frame_offset.items()]
    fn.guards_frame = (
        kind == "func" and module.options.own_sections and _is_guarded(f, module.options.stack_guard, facts.alloca)
    )
    _prune(fn)
    if module.options.access_checks and kind != "helper":
        put_checks(ctx)
    put_view_fences(fn)
    renumber(fn)
    return fn


def _is_guarded(f: Function, limit: int, alloca: bool) -> bool:
    """Whether a function gets a guard: with alloca, or if its local variables have `limit` bytes; never if `limit` is negative."""
    return limit >= 0 and (alloca or sum(v.size for v in f.variables if v.space == "local") >= limit)


def _layout_frame(f: Function, state: FuncState, in_memory: set[Var], kind: str) -> None:
    state.outgoing = align_up(state.outgoing, state.outgoing_align)
    state.frame_align = max(state.frame_align, state.outgoing_align)
    state.frame_top = state.outgoing
    for v in f.variables:
        if v.space == "local" or (v.space == "param" and v in in_memory):
            state.frame_slot(v)
    if kind != "entry":
        for v in [*f.params, *f.rets]:
            if v in in_memory and not is_variadic(v):
                state.frame_slot(v)


def _receive(ctx: Ctx, f: Function, in_memory: set[Var], kind: str) -> None:
    """Copy parameters and the return address out of their ABI places."""
    near = kind == "helper" and not ctx.state.apart
    ra = abi.HELPER_RETURN_ADDRESS if near else abi.RETURN_ADDRESS
    ctx.state.return_key = ctx.temp(2)
    where, _ = places(f.params, first_argument(f))
    if returns_in_memory(f):
        ctx.state.result_key = ctx.temp()
        ctx.set(ctx.state.result_key, ctx.b.copy(r(abi.ARG_FIRST)))
    incoming: list[list[Opnd]] = []
    for p in where:
        incoming.append([ctx.b.copy(r(p.reg + k)) for k in range(p.words)] if p.reg >= 0 else [])
    ctx.set(ctx.state.return_key, ctx.b.pack(r(ra), r(ra + 1)), 2)
    for v, p, words in zip(f.params, where, incoming, strict=True):
        if p.reg < 0:
            if is_variadic(v):
                ctx.state.incoming[v] = p.stack
                continue
            given = params.Memory(ctx.incoming(p.stack), 0, p.stack % 8)
            slot = params.in_frame(ctx, v)
            if slot is not None:
                params.copy_memory(ctx, given, slot, p.words)
                continue
            words = params.read_memory(ctx, given, p.words)
        if v.space == "reg":
            parts = whole(v)
            n = len(words) // len(parts)
            for k, o in enumerate(parts):
                write_words(ctx, o, v.type, words[k * n : (k + 1) * n])
            continue
        params.prepare(ctx, v, v in in_memory)
        params.set_words(ctx, v, words)
    for v in f.rets:
        if v.space != "reg":
            params.prepare(ctx, v, v in in_memory)


_FENCES = ("fence", "membar")
_ORDERED = ("atom", "red", "ld", "st")
_FENCED_ORDERS = ("acquire", "release", "acq_rel")


def _fences(ctx: Ctx, i: Instr) -> bool:
    """True if an instruction makes a fence that must run without a guard: the Mercury form of a target has it as one operation.

    ptxas 13.0.88 branches around a guarded one on these targets.
    """
    if not ctx.target.has(features.MERCURY_LAYOUT):
        return False
    name = i.sig.name
    return name in _FENCES or (name in _ORDERED and i.sig.mods.get("order", "") in _FENCED_ORDERS)


def _body(ctx: Ctx, f: Function, kind: str) -> None:
    state = ctx.state
    state.function = f
    state.kind = kind
    loc: Loc | None = None
    kernel = ctx.module.kernel
    ctx.fn.no_unroll = "pragma:nounroll" in f.directives or "nounroll" in ctx.module.ast.pragmas
    assert f.body is not None
    vectors = any(v.vec > 1 for v in [*f.regs, *f.params, *f.rets] if v.space == "reg")
    for s in f.body:
        if isinstance(s, Instr):
            if state.dead:
                _forget(ctx, s)
                continue
            ctx.line = s.line
            ctx.b.loc = s.line
            if loc is not None:
                kernel.locs[s.line] = loc
            ctx.guard = PT
            if s.pred is not None:
                ctx.guard = ctx.pred_src(s.pred)
                if ctx.guard == NOT_PT:
                    _forget(ctx, s)
                    continue
            if vectors:
                expand_vectors(s)
            where, number = ctx.b.block, len(ctx.b.block.insts)
            state.first_new = len(ctx.fn.vkind)
            if ctx.guard != PT and _fences(ctx, s):
                ctx.begin_guarded()
                lookup(s)(ctx, s)
                ctx.end_guarded()
            else:
                lookup(s)(ctx, s)
            if ctx.ssa.names is not None:
                _stop_at(ctx, where, number, s.line)
        elif isinstance(s, Label):
            _place_label(ctx, s)
        elif isinstance(s, Loc):
            loc = s
        else:
            assert isinstance(s, Pragma)
            if s.text == "nounroll":
                ctx.b.block.no_unroll = True
    ctx.guard = PT
    if not state.dead:
        emit_return(ctx, f, kind)
    placed = {b.id for b in ctx.fn.blocks}
    for b in state.blocks:
        if b is not None and b.id not in placed:
            raise Unsupported("A branch leads to a label that is not placed", f.line)


def _stop_at(ctx: Ctx, where: Block, number: int, line: int) -> None:
    """With -g: a NOP for a PTX instruction that has no code, for a debugger to stop at.

    `where`: the block in which it began, with `number` instructions then.
    """
    if all(i.op is OP_PACK or (i.op is OP_COPY and not i.src[0] & INV) for i in where.insts[number:]):
        inst = ctx.fn.new_inst(OP_NOP, [], [], loc=line)
        where.insts.insert(number, inst)


def _forget(ctx: Ctx, i: Instr) -> None:
    """Skip an unreachable instruction: its branches no longer count as predecessors of their labels."""
    for o in i.ops:
        if o.kind == O_LABEL and o.label is not None:
            for target in branch_targets(o.label):
                note_branch(ctx, target)


def _place_label(ctx: Ctx, label: Label) -> None:
    if label.is_list():
        return
    state = ctx.state
    block = label_block(ctx, label)
    state.placed.add(label.index)
    if not state.dead:
        ctx.jump(block)
    state.dead = False
    ctx.start(block, sealed=state.refs[label.index] == 0)
    if state.refs[label.index] == 0 and not block.preds:
        state.dead = True


def _prune(fn: Func) -> None:
    """Remove unreachable blocks and their phi operands."""
    seen = {fn.blocks[0].id}
    todo = [fn.blocks[0]]
    while todo:
        b = todo.pop()
        for s in b.succs:
            if s.id not in seen:
                seen.add(s.id)
                todo.append(s)
    if len(seen) == len(fn.blocks):
        return
    fn.blocks = [b for b in fn.blocks if b.id in seen]
    for b in fn.blocks:
        keep = [k for k, p in enumerate(b.preds) if p.id in seen]
        if len(keep) == len(b.preds):
            continue
        b.preds = [b.preds[k] for k in keep]
        for inst in b.insts:
            if inst.op is not OP_PHI:
                break
            inst.src = [inst.src[k] for k in keep]
