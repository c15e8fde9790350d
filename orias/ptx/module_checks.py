"""Checks of whole modules, which depend on the target or on all functions together."""

from collections.abc import Iterable, Iterator
from typing import Final

from orias.diag import Diagnostic
from orias.ptx.ast import O_ADDR, O_SYM, TYPE_BITS, Function, Instr, Module, Operand, Pragma, SymInit, Var
from orias.ptx.input_scopes import written
from orias.ptx.launch_warnings import launch_warnings, reached
from orias.ptx.pragmas import ABI_REGISTERS
from orias.ptx.refused_targets import refused_target
from orias.ptx.replaced_text import replaced_text_errors
from orias.target import driver, features
from orias.target.profile import Target

_NO_32_BIT_ABI: Final = (
    " 32-Bit ABI (--machine 32 or 32-Bit addressing) is not supported on sm_90 or higher architectures."
)
_NO_32_BIT: Final = " 32-Bit compilation is no longer supported"
_NO_32_BIT_DEBUG: Final = (
    " 64 Bit host architecture (--machine) being used must match with .address_size of 32 bits for -g compilation"
)
_WHOLE_ADDRESSES: Final = frozenset(
    [
        "ld",
        "ldu",
        "st",
        "atom",
        "red",
        "prefetch",
        "prefetchu",
        "discard",
        "applypriority",
        "multimem.ld_reduce",
        "multimem.st",
    ]
)
"""Instructions of generic and global memory whose address registers ptxas 13.0.88 checks; ``mbarrier.*`` too."""


def check(
    module: Module, target: Target, compile_only: bool = False, extensible: bool = False, debug: bool = False
) -> list[Diagnostic]:
    """The diagnostics of a whole module for ``target``; errors end the compilation.

    ``compile_only`` (ptxas -c), ``extensible`` (-ewp): extern functions and variables may be undefined.  ``debug``: -g.
    """
    found: list[Diagnostic] = []
    refused = refused_target(module, target.name)
    if refused:
        return refused
    if module.per_thread:
        found.append(
            Diagnostic(
                "warning",
                f"Use of module scoped .local or .reg variable '{module.per_thread}' found, disabling ABI",
            )
        )
    if module.address_size == 32:
        _unresolved(module, compile_only or extensible, found)
        if not any(d.severity == "fatal" for d in found):
            found.extend([Diagnostic("fatal", _NO_32_BIT_DEBUG)] if debug else _mismatch(32, target))
        return found
    _narrow_addresses(module, target, found)
    found.extend(replaced_text_errors(module, target))
    if compile_only and module.version < (3, 1):
        found.append(Diagnostic("fatal", "'Compile only(-c)' requires PTX ISA .version 3.1 or later"))
        return found
    if not compile_only and _has_unified(module):
        found.append(Diagnostic("error", "Feature 'unified Functions' requires command line option '--compile-only'."))
        return found
    without_abi = _without_abi(module, compile_only, debug, found)
    if not extensible or compile_only or _addresses_known(module, found):
        _unresolved(module, compile_only or extensible, found)
    _registers_of_arguments(module, found)
    if not without_abi:
        _narrow_arguments(module, compile_only, found)
    const = 0
    for var in module.variables:
        if var.space == "const" and var.linkage != "extern":
            align = max(1, var.align)
            const = (const + align - 1) // align * align + var.size
    found.extend(launch_warnings(module, target, compile_only, debug))
    found += check_debug(module)
    _tensor_groups(module, found)
    if not compile_only:
        _shared_data(module, target, found)
    limit = target.number("constant_limit")
    if const > limit:
        found.append(
            Diagnostic("error", f"File uses too much global constant data (0x{const:x} bytes, 0x{limit:x} max)")
        )
    return found


def _without_abi(module: Module, compile_only: bool, debug: bool, found: list[Diagnostic]) -> bool:
    """Whether ptxas gives up the ABI, for functions with several results or variables of each thread at module level.

    Reports several results, and what cannot be without the ABI.
    """
    several = next((f for f in module.functions if len(f.rets) > 1), None)
    calls = [i for f in module.functions for i in f.body or () if isinstance(i, Instr) and i.sig.name == "call"]
    by_results = several is not None or any(len(i.rets or ()) > 1 for i in calls)
    if by_results:
        if debug:
            found.append(Diagnostic("error", "Function with multiple return values is not allowed with ABI"))
            return True
        who = f"Function '{several.name}'" if several is not None else "Function call"
        found.append(Diagnostic("warning", f"{who} with multiple return values found, disabling ABI"))
    elif not module.per_thread:
        return False
    defined = {f.name for f in module.functions if f.body is not None} | {alias for alias, _ in module.aliases}
    if compile_only:
        found.append(Diagnostic("fatal", "'Compile only(-c)' requires ABI"))
    elif by_results and any(i.ops[0].func is None or i.ops[0].func.name not in defined for i in calls):
        found.append(Diagnostic("fatal", "'Indirect Functions or Extern Functions' requires ABI"))
    elif recursive := _recursive(module):
        found.append(Diagnostic("fatal", f"Function '{recursive}' is recursive"))
    return True


def _recursive(module: Module) -> str:
    """The first function found that kernels reach and that calls itself by name, directly or not; empty if there is none."""
    callees = {f.name: [c.name for c in _callees(f)] for f in module.functions if f.body is not None}
    done: set[str] = set()
    for start in (f.name for f in module.functions if f.entry and f.body is not None):
        active, path = {start}, [(start, iter(callees[start]))]
        while path:
            caller, rest = path[-1]
            callee = next((c for c in rest if c in callees and c not in done), "")
            if callee in active:
                return callee
            if callee:
                active.add(callee)
                path.append((callee, iter(callees[callee])))
                continue
            path.pop()
            active.discard(caller)
            done.add(caller)
    return ""


_NARROW: Final = frozenset(("u8", "s8", "u16", "s16", "pred"))
_NOT_PASSED: Final = (
    "In ABI compilation, passing predicate, 8-bit and 16-bit parameters to device functions is not supported"
)
_NOT_RETURNED: Final = (
    "In ABI compilation, returning predicate, 8-bit and 16-bit values from device functions is not supported"
)


def _narrow_arguments(module: Module, compile_only: bool, found: list[Diagnostic]) -> None:
    """Reports the first call, in what is compiled, with a typed parameter or result of fewer than 32 bits; untyped ones are passed."""
    narrow = [
        (caller, _NOT_PASSED if _has_narrow(callee.params) else _NOT_RETURNED)
        for caller in module.functions
        for callee in _callees(caller)
        if _has_narrow(callee.params) or _has_narrow(callee.rets)
    ]
    if not narrow:
        return
    names = reached(module)
    for caller, message in narrow:
        if compile_only or caller.entry or caller.name in names:
            found.append(Diagnostic("fatal", message, 0))
            return


def _has_narrow(variables: list[Var]) -> bool:
    return any(v.type in _NARROW and not v.dims and v.vec == 1 for v in variables)


def _callees(caller: Function) -> list[Function]:
    """The functions and prototypes that the calls of a function name."""
    calls = [i for i in caller.body or () if isinstance(i, Instr) and i.sig.name == "call"]
    named = [i.proto.proto if i.proto is not None else i.ops[0].func for i in calls]
    return [f for f in named if f is not None]


def _registers_of_arguments(module: Module, found: list[Diagnostic]) -> None:
    """Reports the first direct call of a function whose pragma says how many registers pass arguments: ptxas knows no caller with as many."""
    everywhere = any(text.startswith(ABI_REGISTERS) for text in module.pragmas)
    marked = [f for f in module.functions if not f.entry and _has_registers_of_arguments(f, everywhere)]
    for caller in module.functions if marked else ():
        for i in caller.body or ():
            callee = i.ops[0].func if isinstance(i, Instr) and i.sig.name == "call" else None
            if callee is not None and callee in marked:
                what = f"ABI mismatch when '{caller.name}' calls '{callee.name}'"
                found.append(Diagnostic("fatal", f"{what}: number of registers used for parameter passing differ", 0))
                return


def _has_registers_of_arguments(f: Function, everywhere: bool) -> bool:
    """Whether a function has the pragma, or is defined elsewhere and the module has it (the parser gives it to definitions)."""
    return (f.body is None and everywhere) or any(
        isinstance(s, Pragma) and s.text.startswith(ABI_REGISTERS) for s in f.body or ()
    )


def _has_unified(module: Module) -> bool:
    """Whether a variable or function has the attribute .unified."""
    return any(a.startswith("unified") for v in module.variables for a in v.attributes) or any(
        key.startswith("attribute:unified") for f in module.functions for key in f.directives
    )


def _narrow_addresses(module: Module, target: Target, found: list[Diagnostic]) -> None:
    """Reports registers of up to 32 bits that are generic or global addresses; 32 bits would make a program of 32 bits.

    Without ``.address_size`` the narrowest of them is the module's size (measured on ptxas 13.0.88).
    """
    narrow = [
        (bits, i.line)
        for function in module.functions
        for i in function.body or ()
        if isinstance(i, Instr)
        for bits in _narrow_address(i)
    ]
    if narrow and not module.address_size:
        found.extend(_mismatch(min(bits for bits, _ in narrow), target))
        return
    found.extend(
        Diagnostic(
            "warning", f"Program uses {bits}-bit address on line '{line}' which is conflicting with .address_size 64"
        )
        for bits, line in narrow
    )
    if any(bits == 32 for bits, _ in narrow):
        found.append(_no_32_bit(target))


def _mismatch(bits: int, target: Target) -> list[Diagnostic]:
    """The diagnostics of a module whose addresses have fewer than 64 bits; it is refused at 32 only."""
    text = f" 64 Bit host architecture (--machine) being used mismatches with .address_size of {bits} bits"
    return [Diagnostic("warning", text), *([_no_32_bit(target)] if bits == 32 else [])]


def _no_32_bit(target: Target) -> Diagnostic:
    return Diagnostic("fatal", _NO_32_BIT_ABI if target.has(features.REJECTS_32_BIT_ADDRESSES) else _NO_32_BIT)


def _narrow_address(i: Instr) -> list[int]:
    """The size, below 64 bits, of the address of an access to generic or global memory or of one that cvta or mov makes."""
    if i.sig.name == "cvta":
        return [32] if i.sig.types[0] in ("u32", "s32") else []
    if i.sig.name == "mov":
        return [TYPE_BITS[i.sig.types[0]]] if len(i.ops) == 2 and _is_short(i.ops[1], i.sig.types[0]) else []
    if i.sig.name not in _WHOLE_ADDRESSES and not i.sig.name.startswith("mbarrier."):
        return []
    if i.sig.mods.get("space", "") not in ("", "global"):
        return []
    sizes = [TYPE_BITS[o.var.type] for o in i.ops if o.kind == O_ADDR and o.var is not None and o.var.space == "reg"]
    return [bits for bits in sizes if bits < 64][:1]


def _is_short(op: Operand, type_: str) -> bool:
    """Whether a value is the address of a global variable in fewer than 64 bits."""
    return (
        op.kind == O_SYM
        and op.key != "s+"
        and op.var is not None
        and op.var.space == "global"
        and TYPE_BITS[type_] < 64
    )


NO_DEBUG: Final = "Debug information not found in presence of .target debug"
"""Of a module that declares debug information."""


def check_debug(module: Module) -> list[Diagnostic]:
    """The error of a module with ``.target debug`` and no debug information."""
    return [Diagnostic("error", NO_DEBUG)] if module.lacks_debug() else []


def _tensor_groups(module: Module, found: list[Diagnostic]) -> None:
    """Reports functions with tcgen05 operations of single blocks and of pairs."""
    for function in module.functions:
        groups = {
            s.sig.mods["cta_group"]
            for s in function.body or ()
            if isinstance(s, Instr) and s.sig.name.startswith("tcgen05.") and "cta_group" in s.sig.mods
        }
        if len(groups) > 1:
            what = "uses single CTA(.cta_group::1) and CTA pair granularity(.cta_group::2) and that is not allowed."
            found.append(Diagnostic("error", f"Function '{function.name}' {what}"))


def _shared_data(module: Module, target: Target, found: list[Diagnostic]) -> None:
    """Reports entries whose shared variables, with those of the functions they call, exceed the target's limit; objects leave that to a linker."""
    everything = [v for v in module.variables if v.space == "shared"]
    for function in module.functions:
        everything.extend([v for v in function.variables if v.space == "shared"])
    limit = target.number("exact_shared_limit" if target.suffix == "a" else "shared_limit")
    if _placed(everything) <= limit:
        return
    for function in module.functions:
        if function.entry and function.body is not None:
            size = _placed(_reached(function))
            if size > limit:
                found.append(
                    Diagnostic(
                        "error",
                        f"Entry function '{function.name}' uses too much shared data"
                        f" (0x{size:x} bytes, 0x{limit:x} max)",
                    )
                )


def _placed(variables: list[Var]) -> int:
    """Size in bytes of variables laid out in order; unsized ones take no space."""
    size = 0
    for var in variables:
        align = max(1, var.align)
        size = (size + align - 1) // align * align + var.size
    return size


def _reached(entry: Function) -> list[Var]:
    """The shared variables that an entry and the functions that it names refer to, then those that they only declare."""
    variables: dict[int, Var] = {}
    declared: list[Var] = []
    functions = [entry]
    seen = {entry.name}
    while functions:
        function = functions.pop()
        declared += [v for v in function.variables if v.space == "shared"]
        work: list[Operand] = []
        for statement in function.body or ():
            if isinstance(statement, Instr):
                work.extend(statement.ops)
                work.extend(statement.args)
        while work:
            op = work.pop()
            work.extend(op.elems)
            var = op.var
            if var is not None and var.space == "shared":
                variables[id(var)] = var
            callee = op.func
            if callee is not None and callee.name not in seen:
                seen.add(callee.name)
                functions.append(callee)
    return [*variables.values(), *(v for v in declared if id(v) not in variables)]


def _unresolved_variables(module: Module, found: list[Diagnostic]) -> None:
    """Reports variables that are declared but not defined, up to the first error."""
    for var in module.variables:
        unsized = 0 in var.dims[:1]
        if var.linkage != "extern" or (var.space == "shared" and unsized):
            continue
        if unsized:
            found.append(Diagnostic("fatal", f"Unresolved extern variable '{var.name}'"))
            return
        text = f"Unresolved extern variable '{var.name}' in whole program compilation, ignoring extern qualifier"
        found.append(Diagnostic("warning", text))


def _in_data(variables: Iterable[Var]) -> Iterator[Function]:
    """The functions whose addresses initial values hold."""
    for var in variables:
        for _, value in var.init or ():
            if isinstance(value, SymInit) and isinstance(value.target, Function):
                yield value.target


def _addresses_known(module: Module, found: list[Diagnostic]) -> bool:
    """Reports the first address of a function that a linker adds, if any: calls through pointers expect offsets in the kernel."""
    defined = {f.name for f in module.functions if f.body is not None} | {alias for alias, _ in module.aliases}
    used = list(_in_data(module.variables))
    for function in module.functions:
        for statement in function.body or ():
            if isinstance(statement, Instr) and statement.sig.name != "call":
                used += [op.func for op in statement.ops if op.func is not None]
    for function in used:
        if function.name not in defined:
            text = f"Cannot take address of function '{function.name}' in extensible whole program compilation."
            found.append(Diagnostic("fatal", text))
            return False
    return True


def _unresolved(module: Module, linked: bool, found: list[Diagnostic]) -> None:
    """Reports a function that is declared and used but not defined, else such variables.  ``linked``: those that are extern may be so."""
    functions = _unresolved_function(module, linked)
    found.extend(functions)
    if not linked and not functions:
        _unresolved_variables(module, found)


def _unresolved_function(module: Module, linked: bool) -> list[Diagnostic]:
    """The error on the first such function, if there is one."""
    aliased = {alias for alias, _ in module.aliases}
    declared = [f for f in module.functions if f.body is None and f.name not in aliased]
    of_driver = {f.name for f in declared if driver.is_callable(f.name)}
    missing = {f.name for f in declared if not (linked and f.linkage == "extern")} - of_driver
    if not missing and not of_driver:
        return []
    wanted = [target for _, target in module.aliases]
    if not linked:
        wanted.extend([f.name for f in module.functions if f.linkage != "extern"])
    for name in wanted:
        if name in missing:
            return [Diagnostic("fatal", f"Unresolved extern function '{written(name)}'")]
    return _first_use(module, missing, of_driver)


def _first_use(module: Module, missing: set[str], of_driver: set[str]) -> list[Diagnostic]:
    """Reports the first call of a missing function, or address of one or of the driver's, in code and then in initial values."""
    variables = dict.fromkeys(module.variables)
    for function in module.functions:
        for statement in function.body or ():
            if not isinstance(statement, Instr):
                continue
            called = statement.sig.name == "call"
            variables.update((op.var, None) for op in statement.ops if op.var is not None)
            for name in [op.func.name for op in statement.ops if op.func is not None]:
                if called and name in missing:
                    return [Diagnostic("fatal", f"Unresolved extern function '{written(name)}'")]
                if not called and (name in missing or name in of_driver):
                    return [_not_addressable(name)]
    pointed = (f.name for f in _in_data(variables))
    return [_not_addressable(name) for name in pointed if name in missing or name in of_driver][:1]


def _not_addressable(name: str) -> Diagnostic:
    return Diagnostic("fatal", f"Cannot take address of function '{written(name)}' ")
