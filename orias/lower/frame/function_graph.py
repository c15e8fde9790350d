"""Which functions of a module a kernel can reach, and to which of them pointers can lead."""

from typing import Final, final

from orias.lower.frame.function_summary import Facts, functions_in_data
from orias.ptx.ast import Function, Module, Var


@final
class FunctionGraph:
    """The functions of a module, and what each refers to.

    ``variables``: all variables of the module, whose initial values may hold addresses.  ``numbered``: addresses of
    functions are numbers where the module has several kernels, each of which has its own copies of functions.
    """

    __slots__ = ("_ast", "_facts", "has_pointers", "numbers", "pointed")

    def __init__(self, module: Module, variables: list[Var], numbered: bool) -> None:
        self._ast: Final[Module] = module
        self._facts: Final[dict[Function, Facts]] = {}
        taken = {self.definition(g).name for g in functions_in_data(*variables)}
        for f in module.functions:
            if f.body is not None:
                taken.update(self.definition(g).name for g in self.facts(f).addressed)
        self.has_pointers: Final[bool] = bool(taken)
        """Whether code or data has the address of a function or kernel."""
        self.pointed: Final[list[Function]] = [
            f for f in module.functions if f.name in taken and f.body is not None and not f.entry
        ]
        """The functions with a body whose address the module takes, in module order."""
        self.numbers: Final[dict[str, int]] = {}
        """Numbers that stand for addresses of functions, by name: offsets in each kernel's table of its copies.  Empty where
        addresses are real addresses or offsets."""
        if numbered and sum(f.entry and f.body is not None for f in module.functions) > 1:
            self.numbers.update({f.name: 8 * (k + 1) for k, f in enumerate(self.pointed)})
            self.numbers.update({a: self.numbers[f] for a, f in module.aliases if f in self.numbers})

    def facts(self, f: Function) -> Facts:
        """The summary of a function, computed once."""
        known = self._facts.get(f)
        if known is None or f.body is None:
            known = Facts(f)
            if f.body is not None:
                self._facts[f] = known
        return known

    def definition(self, f: Function) -> Function:
        """The function with this name (or the one it is an alias of) that has a body, if any, else `f`."""
        if f.body is None:
            name = f.name
            for alias, target in self._ast.aliases:
                if alias == name:
                    name = target
            for g in self._ast.functions:
                if g.name == name and g.body is not None:
                    return g
        return f

    def reach(self, f: Function) -> list[Function]:
        """Functions with a body that a kernel can call or point to, in module order."""
        seen: set[str] = set()
        todo = [f]
        while todo:
            facts = self.facts(todo.pop())
            for g in [*facts.functions, *(self.pointed if facts.indirect else ())]:
                target = self.definition(g)
                if target.name not in seen and target.body is not None and not target.entry:
                    seen.add(target.name)
                    todo.append(target)
        return [g for g in self._ast.functions if g.name in seen and g.body is not None]

    def unreached(self) -> set[str]:
        """Names of functions that no kernel can call and no data points to."""
        kept = {f.name for f in self.pointed}
        for f in self._ast.functions:
            if f.entry and f.body is not None:
                kept.update(g.name for g in self.reach(f))
        return {f.name for f in self._ast.functions if not f.entry} - kept

    def shared_variables(self, *functions: Function) -> set[Var]:
        """Shared variables that some functions name."""
        out: set[Var] = set()
        for f in functions:
            out.update(self.facts(f).shared)
        return out
