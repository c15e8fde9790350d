"""Checks between declarations: redefinitions, prototypes, and calls against the functions they name.

Wording and rules: asked of ptxas 13.0.88 with small modules, one rule each.
"""

from orias.ptx.ast import O_IMM, O_REG, O_SYM, Function, Operand, Var
from orias.ptx.fits import register_fits

_PARAM_ALIGN = frozenset((1, 2, 4, 8, 16, 32, 64, 128))


def redefinition(old: Var, new: Var) -> list[str]:
    """What is wrong with declaring a module-level variable again; empty if the two agree."""
    errors: list[str] = []
    same_dims = old.dims == new.dims or (old.dims[1:] == new.dims[1:] and (0 in old.dims[:1] or 0 in new.dims[:1]))
    if old.type != new.type or old.space != new.space or old.vec != new.vec or not same_dims:
        errors.append(f"Inconsistent redefinition of variable '{new.name}'")
    if old.linkage == "extern" and new.linkage == "":
        errors.append(f"'.extern' variable '{new.name}' cannot be resolved by a '.static'")
    return errors


def prototypes(old: Function, new_rets: list[Var], new_params: list[Var]) -> list[str]:
    """How a second declaration of a function differs from the first."""
    name = old.name
    if len(old.rets) != len(new_rets) or len(old.params) != len(new_params):
        return [f"Inconsistent prototypes of '{name}', number of parameters differ"]
    errors: list[str] = []
    for a, b in zip([*old.rets, *old.params], [*new_rets, *new_params], strict=True):
        if a.type != b.type or a.dims != b.dims or a.vec != b.vec or a.space != b.space:
            message = f"Inconsistent prototypes of '{name}', parameter types differ"
            if message not in errors:
                errors.append(message)
        if a.align != b.align:
            message = f"Inconsistent prototypes of '{name}', parameter alignment differ"
            if message not in errors:
                errors.append(message)
    return errors


def parameter(var: Var, entry: bool) -> list[str]:
    """What is wrong with one formal parameter."""
    errors: list[str] = []
    if entry and var.space != "param":
        errors.append(f"Entry parameter '{var.name}' must have .param state space")
    if var.type == "pred" and var.space == "param":
        errors.append(f"Predicate variable '{var.name}' must be in register state space")
    return errors


def alignment(var: Var) -> list[str]:
    """What is wrong with the alignment of a parameter of a function that is defined, or of a call."""
    if var.space != "param" or var.align in _PARAM_ALIGN:
        return []
    return [f"Parameter '{var.name}' has illegal alignment (must be aligned to 1, 2, 4, 8, 16, 32, 64, or 128 bytes)"]


def call_errors(callee: Function, rets: list[Operand], args: list[Operand]) -> list[str]:
    """What is wrong with the arguments of a call of a function or prototype."""
    variadic = bool(callee.params) and callee.params[-1].dims[:1] == (0,)
    given = len(args)
    wanted = len(callee.params)
    if len(rets) != len(callee.rets) or (given != wanted and not (variadic and given in (wanted, wanted - 1))):
        return ["Call has wrong number of parameters"]
    errors: list[str] = []
    for formal, actual in [*zip(callee.rets, rets, strict=False), *zip(callee.params, args, strict=False)]:
        if formal.dims[:1] == (0,):
            continue
        errors.extend(_argument(formal, actual))
    return errors


def _argument(formal: Var, actual: Operand) -> list[str]:
    var = actual.var
    if actual.kind == O_IMM or var is None or actual.kind not in (O_REG, O_SYM):
        return []
    errors: list[str] = []
    if actual.kind == O_REG or (not formal.dims and not var.dims):
        fits = not formal.dims and (
            register_fits(var.type, formal.type, False) or register_fits(formal.type, var.type, False)
        )
    else:
        fits = formal.size == var.size and bool(formal.dims) == bool(var.dims)
    if not fits:
        errors.append(f"Type of argument does not match formal parameter '{formal.name}'")
    align = var.align if var.align else max(1, var.size)
    if (align != formal.align and actual.kind == O_SYM) or (
        actual.kind == O_REG and not fits and var.type[1:] != formal.type[1:]
    ):
        errors.append(f"Alignment of argument does not match formal parameter '{formal.name}'")
    return errors
