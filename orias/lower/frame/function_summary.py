"""Summary of a PTX function, from one walk over its statements: branches, callees, variables, parameters in memory."""

from typing import final

from orias.ptx.ast import O_ADDR, O_FUNC, O_IMM, O_LABEL, O_REG, O_SREG, Function, Instr, Label, Operand, SymInit, Var
from orias.ptx.replaced_text import is_cluster_copy


@final
class Facts:
    """``branches``: uses of each label, by index; ``functions``: called or address taken; ``addressed``: those whose address is
    taken; ``indirect``: it calls through pointers; ``shared``: shared variables used, by first use; ``alloca``: the stack pointer moves;
    ``taken``: parameter variables whose address is taken; ``calls``: call instructions; ``gradients``: samplings with gradients;
    ``copies``: copies from global memory to the cluster."""

    __slots__ = (
        "addressed",
        "alloca",
        "branches",
        "calls",
        "copies",
        "functions",
        "gradients",
        "indirect",
        "shared",
        "taken",
    )

    def __init__(self, f: Function) -> None:
        self.branches: list[int] = [0] * len(f.labels)
        self.functions: list[Function] = []
        self.addressed: list[Function] = []
        self.indirect: bool = False
        self.shared: dict[Var, None] = {}
        self.taken: set[Var] = set()
        self.calls: list[Instr] = []
        self.gradients: list[Instr] = []
        self.copies: list[Instr] = []
        self.alloca: bool = False
        for s in f.body or ():
            if isinstance(s, Instr):
                self._look(s)

    def _look(self, s: Instr) -> None:
        name = s.sig.name
        if name in ("alloca", "stackrestore"):
            self.alloca = True
        if name.startswith("tex") and s.sig.mods.get("mode") == "grad":
            self.gradients.append(s)
        if is_cluster_copy(s):
            self.copies.append(s)
        if name == "call":
            self.calls.append(s)
            self.indirect = self.indirect or s.ops[0].kind != O_FUNC
            todo = [*s.ops, *s.rets, *s.args]
        else:
            todo = s.ops
        plain = name in ("ld", "st") and s.sig.mods.get("space", "").startswith("param")
        for o in todo:
            kind = o.kind
            if kind in (O_REG, O_IMM, O_SREG):
                continue
            if o.elems:
                for e in _flat(o):
                    self._operand(e, name, plain)
            self._operand(o, name, plain)
            if kind == O_FUNC and o.func is not None and not (name == "call" and o is s.ops[0]):
                self.addressed.append(o.func)

    def _operand(self, o: Operand, name: str, plain: bool) -> None:
        kind = o.kind
        if kind == O_LABEL:
            if o.label is not None:
                for target in branch_targets(o.label):
                    self.branches[target.index] += 1
        elif kind == O_FUNC:
            if o.func is not None:
                self.functions.append(o.func)
        elif o.var is not None:
            space = o.var.space
            if space == "shared":
                self.shared[o.var] = None
            elif o.var.init is not None:
                pointed = functions_in_data(o.var)
                self.functions.extend(pointed)
                self.addressed.extend(pointed)
            elif space == "param" and name != "call" and not (plain and kind == O_ADDR):
                self.taken.add(o.var)


def functions_in_data(*variables: Var) -> list[Function]:
    """Functions whose addresses the initialisers of variables hold, themselves or through other variables."""
    out: list[Function] = []
    todo, seen = list(variables), set(variables)
    while todo:
        for _, value in todo.pop().init or []:
            if not isinstance(value, SymInit):
                continue
            to = value.target
            if isinstance(to, Function):
                out.append(to)
            elif to not in seen:
                seen.add(to)
                todo.append(to)
    return out


def _flat(o: Operand) -> list[Operand]:
    """The operands inside an operand, at any depth of nesting, in the order of the text."""
    out: list[Operand] = []
    todo = o.elems[::-1]
    while todo:
        e = todo.pop()
        out.append(e)
        todo.extend(e.elems[::-1])
    return out


def branch_targets(label: Label) -> list[Label]:
    """The labels a label operand can lead to: itself, or its .branchtargets list."""
    if label.targets is not None:
        return label.targets
    if label.proto is not None or label.functions is not None:
        return []
    return [label]
