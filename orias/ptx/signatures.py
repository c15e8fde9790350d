"""Checks between declarations: redefinitions, prototypes, and calls against their callees.

Each rule was measured with small modules given to ptxas.  Facts: docs/facts/front-end.md (functions).
"""

from orias.ptx.ast import O_FUNC, O_IMM, O_LABEL, O_REG, O_SINK, O_SREG, O_SYM, Function, Operand, Var
from orias.ptx.fits import register_fits
from orias.target.descriptors import HANDLE_KINDS

_PARAM_ALIGN = frozenset((1, 2, 4, 8, 16, 32, 64, 128))


def redefinition(old: Var, new: Var) -> list[str]:
    """Error messages on a second declaration of a module-level variable; empty if the two agree."""
    errors: list[str] = []
    same_dims = old.dims == new.dims or (old.dims[1:] == new.dims[1:] and (0 in old.dims[:1] or 0 in new.dims[:1]))
    if old.type != new.type or old.space != new.space or old.vec != new.vec or not same_dims:
        errors.append(f"Inconsistent redefinition of variable '{new.name}'")
    if old.linkage == "extern" and new.linkage == "":
        errors.append(f"'.extern' variable '{new.name}' cannot be resolved by a '.static'")
    return errors


def prototypes(old: Function, new_rets: list[Var], new_params: list[Var]) -> list[str]:
    """Error messages on differences between two declarations of a function."""
    return _lists_differ(old.name, old.rets, new_rets) + _lists_differ(old.name, old.params, new_params)


def aliased(alias: Function, aliasee: Function, known: dict[str, str], read: Function | None) -> list[str]:
    """Error messages on an alias of a function; ``known``: the aliases before it, ``read``: the function whose body it stands in."""
    errors: list[str] = []
    if alias.body is not None and alias is not read:
        errors.append(f"Illegal redefinition of function '{alias.name}' as alias")
    errors += [f"Cannot define alias to entry function '{f.name}'" for f in (alias, aliasee) if f.entry]
    if alias.name in known:
        errors.append(f"'{alias.name}' is already aliased to '{known[alias.name]}' and cannot be redefined")
    if alias is aliasee:
        return [*errors, "Cannot alias a function to itself"]
    differ = _differences(alias.params, aliasee.params) + _differences(alias.rets, aliasee.rets)
    if ("noreturn" in alias.directives) != ("noreturn" in aliasee.directives):
        differ.append(".noreturn directive")
    what = f"Mismatch in prototype of alias '{alias.name}' and aliasee '{aliasee.name}'"
    errors += [f"{what}. {how} differ(s)" for how in differ]
    if aliasee.linkage in ("extern", "weak"):
        errors.append(f"Function '{aliasee.name}' with .{aliasee.linkage} scope cannot be aliased")
    return errors


def _lists_differ(name: str, old: list[Var], new: list[Var]) -> list[str]:
    """Error messages on differences between two lists of results or of parameters."""
    return [f"Inconsistent prototypes of '{name}', {what} differ" for what in _differences(old, new)]


def _differences(old: list[Var], new: list[Var]) -> list[str]:
    """In what two lists of results or of parameters differ."""
    differ = ["number of parameters"] if len(old) != len(new) else []
    for a, b in zip(old, new, strict=False):
        if a.type != b.type or a.dims != b.dims or a.vec != b.vec:
            differ.append("parameter types")
        if _alignment(a) != _alignment(b):
            differ.append("parameter alignment")
        if a.space != b.space:
            differ.append("parameter state space")
    return differ


def _alignment(var: Var) -> int:
    """The alignment of a parameter, of a predicate that of a word."""
    return 4 if var.type == "pred" and var.align == 1 else var.align


def parameter(var: Var, entry: bool) -> list[str]:
    """Error messages on the state space of one formal parameter."""
    errors: list[str] = []
    if entry and var.space != "param":
        errors.append(f"Entry parameter '{var.name}' must have .param state space")
    elif var.space not in ("param", "reg"):
        errors.append(f"Function parameter '{var.name}' has illegal state space")
    return errors


def unallocated(var: Var, entry: bool = False) -> list[str]:
    """Error messages on a type that a parameter of a defined function, or a declared one, cannot have; ``entry``: of a kernel."""
    if var.space == "param" and (
        ((var.type == "f16x2" or var.vec > 1) and not var.dims) or (var.type in HANDLE_KINDS and not entry)
    ):
        return [f"Variable '{var.name}' cannot be allocated in .param state space"]
    if var.space == "reg" and (var.type in HANDLE_KINDS or var.dims):
        return [f"Variable '{var.name}' cannot be allocated into a register"]
    return []


def defined_parameter(var: Var, entry: bool) -> list[str]:
    """Error messages on a parameter or result of a function with a body."""
    errors = unallocated(var, entry)
    if not entry:
        errors += alignment(var)
    if var.type == "pred" and var.space == "param" and not var.dims and var.vec == 1:
        errors.append(f"Predicate variable '{var.name}' must be in register state space")
    return errors


def alignment(var: Var) -> list[str]:
    """Error messages on the alignment of a parameter of a defined function or of a call."""
    if var.space != "param" or var.align in _PARAM_ALIGN:
        return []
    return [f"Parameter '{var.name}' has illegal alignment (must be aligned to 1, 2, 4, 8, 16, 32, 64, or 128 bytes)"]


_WRONG_NUMBER = "Call has wrong number of parameters"


def call_errors(callee: Function, rets: list[Operand], args: list[Operand], own: list[Var], bare: bool) -> list[str]:
    """Error messages on the arguments of a call of a function or prototype, in a function with the formal parameters `own`.

    ``bare``: the call has no parentheses.  The last argument may be missing where the arguments are counted; that it is
    no variadic one is told after them.
    """
    if bare:
        return [_WRONG_NUMBER] if callee.rets or callee.params else []
    errors: list[str] = []
    for formals, actuals, result in ((callee.rets, rets, True), (callee.params, args, False)):
        missing = len(formals) - len(actuals)
        if missing < 0 or (missing > 1 and not (result and not actuals)):
            errors.append(_WRONG_NUMBER)
        for formal, actual in zip(formals, actuals, strict=False):
            errors += _argument(formal, actual, own, result)
        if missing > 1 or (missing == 1 and formals[-1].dims[:1] != (0,)):
            errors.append(_WRONG_NUMBER)
    return errors


def _argument(formal: Var, actual: Operand, own: list[Var], result: bool) -> list[str]:
    errors = _place(formal, actual, own, result)
    fits, aligned = _agreement(formal, actual)
    if not fits:
        errors.append(f"Type of argument does not match formal parameter '{formal.name}'")
    if not aligned:
        errors.append(f"Alignment of argument does not match formal parameter '{formal.name}'")
    return errors


def _place(formal: Var, actual: Operand, own: list[Var], result: bool) -> list[str]:
    """Messages on what an argument is: a register, a constant, or a parameter that the function declares itself."""
    var = actual.var
    if actual.kind in (O_LABEL, O_SINK):
        return [] if result and actual.kind == O_SINK else [f"Illegal argument for formal parameter '{formal.name}'"]
    if actual.kind == O_FUNC and actual.func is not None:
        return [f"Call argument '{actual.func.name}' has illegal state space"]
    if actual.kind == O_SREG:
        return [f"Call argument '%{actual.name}' has illegal state space"]
    errors: list[str] = []
    if var is not None and actual.kind == O_SYM and var.space == "param":
        if var in own:
            errors.append(f"Formal parameter '{var.name}' declared in .param space cannot be used as argument to call")
    elif var is not None:
        if actual.kind == O_SYM:
            errors.append(f"Call argument '{var.name}' has illegal state space")
        if formal.dims and formal.dims[0]:
            errors.append(f"Inconsistent state space for parameter '{var.name}'")
    return errors


def _agreement(formal: Var, actual: Operand) -> tuple[bool, bool]:
    """Whether type and alignment of an argument are those of the parameter."""
    var = actual.var
    if actual.kind == O_IMM:
        # An integer is no float; a float is bits, but no integer.
        letters = "bus" if actual.imm_type == "int" else "bf"
        return not formal.dims and formal.type[0] in letters and formal.type not in ("f16x2", "bf16x2"), True
    if actual.kind == O_SINK or actual.kind == O_SREG:
        return True, True
    if var is None:
        return False, False
    if actual.kind == O_REG:
        if var.vec == formal.vec:
            fits = not formal.dims and (
                register_fits(var.type, formal.type, False) or register_fits(formal.type, var.type, False)
            )
        else:
            fits = var.size == formal.size
        # Predicates count as 32 bits.
        bits = "32" if var.type == "pred" else var.type[1:]
        wanted = "32" if formal.type == "pred" else formal.type[1:]
        return fits, fits or (bits == wanted and var.vec == formal.vec)
    if formal.dims or var.dims:
        fits = (formal.size == var.size or formal.dims[:1] == (0,)) and bool(formal.dims) == bool(var.dims)
    else:
        fits = register_fits(var.type, formal.type, False) or register_fits(formal.type, var.type, False)
    return fits, (var.align if var.align else max(1, var.size)) == formal.align
