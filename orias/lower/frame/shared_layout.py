"""Places shared variables where functions have sections of their own: one address for all kernels that may reach a variable.

A variable that one kernel alone reaches, itself or by the functions that it may call, is part of that kernel's memory.  Those of several
kernels come first, each at the lowest place that is free in all of its kernels; variables of functions that no kernel reaches are at
0.  Dynamic shared memory has one address, after all that its kernels have.  With -g the order is that of ptxas's sorts
(:mod:`orias.cubin.variable_layout`), measured with ptxas 13.0.88 (docs/facts/cubin.md, Shared variables with -g).
"""

from collections.abc import Callable
from typing import final

from orias.cubin.variable_layout import by_alignment, by_size_backwards
from orias.lower.frame import data_layout
from orias.lower.frame.function_summary import Facts
from orias.ptx.ast import Function, Module, Var


@final
class KernelShared:
    """A kernel's shared memory: the places of all variables that it may reach, and its bytes."""

    __slots__ = ("places", "size")

    def __init__(self) -> None:
        self.places: dict[Var, int] = {}
        self.size: int = 0


@final
class SharedLayout:
    """``places``: the byte offsets of variables that functions use, or several kernels; ``common``: those that are no kernel's own,
    in their order in memory; ``kernels``: the memory of each kernel."""

    __slots__ = ("_first", "common", "kernels", "places")

    def __init__(self, first: int) -> None:
        """``first``: the lowest address that a variable gets."""
        self._first: int = first
        self.places: dict[Var, int] = {}
        self.common: dict[Var, None] = {}
        self.kernels: dict[Function, KernelShared] = {}

    def lay_out(
        self, module: Module, reached: dict[Function, list[Function]], facts: Callable[[Function], Facts], debug: bool
    ) -> None:
        """Place all variables; ``reached``: each kernel with the functions that it may call or point to."""
        users: dict[Var, dict[Function, None]] = {}
        by_function: set[Var] = set()
        for f in module.functions:
            if f.body is not None and not f.entry:
                by_function.update(facts(f).shared)
        for k, called in reached.items():
            for g in [k, *called]:
                for v in facts(g).shared:
                    users.setdefault(v, {})[k] = None
        # Locals of functions come before variables of the module.
        declared = [v for f in module.functions if not f.entry for v in f.variables if v.space == "shared"]
        declared += [v for v in module.variables if v.space == "shared"]
        if debug:
            declared = [declared[n] for n in by_size_backwards([v.size for v in declared])]
        named = [v for v in declared if v in users or v in by_function]
        dynamic = [v for v in named if v.size == 0 and (debug or v in by_function)]
        if debug:
            dynamic += [v for k in reached for v in k.variables if v.size == 0 and v in users]
        several = [v for v in named if v.size and len(users.get(v, ())) != 1]
        self.common = dict.fromkeys([*several, *dynamic])
        self._place_common(several, users)
        rest: dict[Function, list[Var]] = {k: [] for k in reached}
        for v in named:
            if v not in self.common:
                for k in users[v]:
                    if v.function is not k:
                        rest[k].append(v)
        for k, others in rest.items():
            own = [v for v in k.variables if v in users]
            if debug:
                # Its own are listed by first use, those without one last.
                own = [v for v in facts(k).shared if v.function is k]
                own += [v for v in k.variables if v.space == "shared" and v not in users and v.linkage != "extern"]
            self._place_kernel(k, [v for v in [*own, *others] if v not in self.common], users, debug)
        top = max((self.kernels[k].size for v in dynamic for k in users.get(v, ())), default=0)
        top = max(top, self._first)
        start = data_layout.align_up(top, max((data_layout.shared_align(v) for v in dynamic), default=1))
        for v in dynamic:
            self.places[v] = start
            for k in users.get(v, ()):
                memory = self.kernels[k]
                memory.places[v] = memory.size = start

    def _place_common(self, variables: list[Var], users: dict[Var, dict[Function, None]]) -> None:
        taken: dict[Function, list[tuple[int, int]]] = {}
        for v in variables:
            kernels = list(users.get(v, ()))
            at = data_layout.align_up(self._first, data_layout.var_align(v))
            for start, end in sorted({part for k in kernels for part in taken.get(k, ())}):
                if at + v.size > start:
                    at = max(at, data_layout.align_up(end, data_layout.var_align(v)))
            self.places[v] = at
            for k in kernels:
                parts = taken.setdefault(k, [])
                if parts and parts[-1][1] == at:
                    parts[-1] = (parts[-1][0], at + v.size)
                else:
                    parts.append((at, at + v.size))

    def _place_kernel(self, k: Function, own: list[Var], users: dict[Var, dict[Function, None]], debug: bool) -> None:
        memory = self.kernels[k] = KernelShared()
        mine = [v for v in self.places if k in users.get(v, ())]
        memory.places = {v: self.places[v] for v in mine}
        memory.size = max((self.places[v] + v.size for v in mine), default=self._first if own else 0)
        if debug:
            own = [own[n] for n in by_alignment([(data_layout.var_align(v), v.size) for v in own])]
        dynamic = [v for v in own if v.size == 0]
        for v in [v for v in own if v.size]:
            memory.places[v] = data_layout.align_up(memory.size, data_layout.var_align(v))
            memory.size = memory.places[v] + v.size
        start = data_layout.align_up(memory.size, max((data_layout.shared_align(v) for v in dynamic), default=1))
        memory.places.update(dict.fromkeys(dynamic, start))
        self.places.update((v, memory.places[v]) for v in own if v.size)
