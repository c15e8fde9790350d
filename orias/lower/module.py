"""Lowers a PTX module to a :class:`Program`: kernels, each with copies of the functions it calls, and the data layout."""

from typing import Final

from orias.lower.builtins import builtin_function
from orias.lower.families import load_common
from orias.lower.frame import data_layout
from orias.lower.frame.module_state import ModuleState
from orias.lower.frame.private_functions import private_functions
from orias.lower.frame.program import Kernel, LowerOptions, Program
from orias.lower.function import lower_function
from orias.ori.ir import ConstantPool, Func
from orias.ptx.ast import Function, Module
from orias.target import features
from orias.target.profile import Target

_CHECKED_FUNCTIONS: Final = ("malloc", "free")


def lower_module(module: Module, target: Target, options: LowerOptions | None = None) -> Program:
    """Lower every kernel of the module; raises Unsupported at the first thing that cannot be compiled yet."""
    load_common()
    m = ModuleState(module, target, options or LowerOptions())
    program = m.program
    _take_unified(m)
    left_out = m.functions.unreached() if m.options.drops_unreached else set()
    for f in module.functions:
        if f.name not in left_out and f.body is not None and (f.entry or m.options.own_sections):
            program.kernels.append(_lower_kernel(m, f))
    if m.options.own_sections and not m.options.relocatable:
        _add_helpers(m)
        order = _symbol_order(m)
        program.kernels.sort(key=lambda k: order[k.ptx.name])
    m.data.put_variables()
    if m.options.relocatable:
        _list_prototypes(m)
    return program


def _symbol_order(m: ModuleState) -> dict[str, int]:
    """The place of each function in ptxas's list: by its first declaration, internal subroutines by their first use in the text."""
    lines = [(f.declared, f.name) for f in m.ast.functions]
    for f in m.ast.functions:
        lines += [(f.line, name) for name in m.helpers_of.get(f.name, ())]
    lines.sort(key=lambda place: place[0])
    names = dict.fromkeys([name for _, name in lines] + list(m.helpers_apart))
    return {name: k for k, name in enumerate(names)}


def _add_helpers(m: ModuleState) -> None:
    """Lower the internal subroutines that have sections of their own, in the order of their first calls."""
    done = 0
    while done < len(m.helpers_apart):
        symbol = list(m.helpers_apart)[done]
        done += 1
        builtin = builtin_function(m.helpers_apart[symbol])
        ptx = Function(symbol, False, builtin.line)
        ptx.linkage = "weak"
        ptx.params, ptx.rets, ptx.body = builtin.params, builtin.rets, builtin.body
        ptx.regs, ptx.variables, ptx.labels = builtin.regs, builtin.variables, builtin.labels
        kernel = Kernel(ptx, Func(symbol, m.target))
        kernel.is_helper = True
        m.begin(kernel)
        m.data.share_common(kernel)
        kernel.entry = lower_function(m, ptx, symbol, "helper")
        _open_pool(m, kernel)
        m.program.kernels.append(kernel)


def _take_unified(m: ModuleState) -> None:
    """Functions with a unified identity count as pointed to: the linker and the host have their addresses."""
    for f in m.ast.functions:
        if data_layout.function_unified_id(f) is not None:
            definition = m.functions.definition(f)
            if definition.body is None:
                m.program.declare_extern(f.name, f.linkage == "weak")
            m.program.take_address(definition)


def _list_prototypes(m: ModuleState) -> None:
    """Name the prototypes of the functions that a linker may connect, but for those whose address is taken."""
    program = m.program
    used = {callee for k in program.kernels for _, callee in k.edges} | {a for a, _ in m.ast.aliases}
    pointed = {name for name, _ in program.address_taken}
    for f in m.ast.functions:
        if f.entry or f.name in pointed:
            continue
        if f.name in used if f.body is None else f.linkage in ("visible", "weak"):
            program.prototypes.append((f.name, data_layout.prototype(f)))
    listed = {name for name, _ in program.prototypes} | pointed
    program.prototypes += [(name, text) for name, text in m.driver_prototypes.items() if name not in listed]


def _lower_kernel(m: ModuleState, f: Function) -> Kernel:
    """Lower a kernel, or a function with a section of its own, and what it reaches."""
    kernel = Kernel(f, Func(f.name, m.target))
    m.begin(kernel)
    kernel.params, kernel.param_bytes = data_layout.param_places(f.params, m.target)
    reached: list[Function] = []
    if not m.options.own_sections:
        functions = m.functions
        reached = functions.reach(f)
        m.data.layout_shared(kernel, reached)
        if functions.numbers and any(functions.facts(g).indirect for g in [f, *reached]):
            kernel.pointers = [m.copy_name(g) for g in functions.pointed]
            kernel.table_bytes = 8 * (1 + len(kernel.pointers))
    elif not f.entry:
        kernel.params, kernel.param_bytes = [], 0
        m.data.share_common(kernel)
    elif not m.options.relocatable:
        m.data.take_shared(kernel)
    else:
        m.data.list_shared(kernel)
    kernel.entry = lower_function(m, f, f.name, "entry" if f.entry else "func")
    kernel.functions = [lower_function(m, g, m.copy_name(g), "func") for g in reached]
    if f.entry and m.options.access_checks and not m.options.own_sections:
        # As in ptxas's file, whose checks of these functions' calls are routines that only call them.
        for name in _CHECKED_FUNCTIONS:
            m.name_driver_function(name)
            m.data.slot(name)
    while len(kernel.helpers) < len(m.helpers):
        name = list(m.helpers)[len(kernel.helpers)]
        kernel.helpers.append(lower_function(m, builtin_function(name), m.helpers[name], "helper"))
    if m.options.opt_level and not m.options.own_sections:
        kernel.private = private_functions(kernel.functions, {m.copy_name(g) for g in m.functions.pointed})
    _open_pool(m, kernel)
    for fn in kernel.all_functions() if kernel.references else ():
        fn.slots_at = min(r.offset for r in kernel.references)
    return kernel


def _open_pool(m: ModuleState, kernel: Kernel) -> None:
    """Allot what phases put into bank 2, after its tables: more tables, and constants on targets whose operations read that bank.

    With -g a function has a section of its own and any kernel may call it: it has no bank and uses no constants.
    """
    if m.options.debug and not kernel.ptx.entry:
        return
    if not m.target.has(features.CONSTANT_OPERANDS) and (m.options.relocatable or m.options.own_sections):
        return
    owner = kernel.entry.name if m.options.relocatable else ""
    kernel.pool = ConstantPool(data_layout.align_up(kernel.table_bytes, 8), owner)
    for fn in kernel.all_functions():
        fn.pool = kernel.pool
