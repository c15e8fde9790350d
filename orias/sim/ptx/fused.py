"""Products that a compiler may fuse with the addition that reads them: multiplication and addition, both without a rounding mode."""

from typing import Final

from orias.ptx.ast import O_REG, Function, Instr, Label, Operand, Var

Factors = dict[int, tuple[Instr | None, Instr | None]]
"""By id of an addition the products that make its two operands."""
_ENDS: Final = ("bra", "brx", "call", "ret", "exit")


def fused_products(function: Function, across: bool) -> Factors:
    """The products that stand in the block of the addition that reads them, whose factors are still in their registers there.

    `across`: or before it, where all threads that come to the addition come from the product.
    """
    found: Factors = {}
    made: dict[int, Instr] = {}
    readers: dict[int, list[Instr]] = {}
    """By id of a register the products of which it is a factor."""
    for s in function.body or ():
        if isinstance(s, Label) or (not across and isinstance(s, Instr) and s.sig.name in _ENDS):
            made.clear()
            readers.clear()
        if not isinstance(s, Instr):
            continue
        if s.sig.name in ("add", "sub") and _plain(s):
            left, right = (_product(made, o, s) for o in s.ops[1:3])
            if left is not None or right is not None:
                found[id(s)] = (left, right)
        for var in _written(s):
            made.pop(id(var), None)
            for product in readers.pop(id(var), ()):
                if made.get(id(product.ops[0].var)) is product:
                    del made[id(product.ops[0].var)]
        target = s.ops[0].var if s.ops else None
        if s.sig.name == "mul" and _plain(s) and s.pred is None and "sat" not in s.sig.mods and target is not None:
            if all(o.var is not target for o in s.ops[1:]):
                made[id(target)] = s
                for o in (o for o in s.ops[1:] if o.var is not None):
                    readers.setdefault(id(o.var), []).append(s)
    return found


def _plain(i: Instr) -> bool:
    """Whether an instruction is of one float, without a rounding mode, on whole registers or constants."""
    return (
        i.sig.types in (("f32",), ("f64",)) and "rnd" not in i.sig.mods and i.ops[0].kind == O_REG and not i.ops[0].comp
    )


def _product(made: dict[int, Instr], o: Operand, addition: Instr) -> Instr | None:
    """The product in a register, of the addition's type and treatment of subnormal numbers."""
    product = made.get(id(o.var)) if o.kind == O_REG and not o.comp else None
    if product is None or product.sig.types != addition.sig.types:
        return None
    return product if ("ftz" in product.sig.mods) == ("ftz" in addition.sig.mods) else None


def _written(i: Instr) -> list[Var]:
    """The registers that an instruction may write: those in its first operand, and the results of a call."""
    first = [i.ops[0], *i.ops[0].elems] if i.ops else []
    return [o.var for o in (*first, *i.rets) if o.var is not None]
