"""Counts the rewrites of the simplifier and stops them after a number, to find a wrong one."""

from collections.abc import Callable
from types import TracebackType
from typing import Final

from orias.ori.ir import Inst
from orias.ori.text import inst_text
from orias.passes.simplify import FOLDERS, RULES, Cx, Rule
from orias.pipeline import functions

UNLIMITED: Final = 1 << 60
assert functions.RULE_MODULES


class RewriteLimit:
    """While entered, rules apply at most `limit` times; ``count`` is the number of rewrites, ``last`` describes the last."""

    def __init__(self, limit: int = UNLIMITED) -> None:
        self.limit = limit
        self.count = 0
        self.last = ""
        self._rules = dict(RULES)
        self._folders = dict(FOLDERS)

    def __enter__(self) -> "RewriteLimit":
        for base, rule in self._rules.items():
            RULES[base] = self._counted(base, rule)
        for base in self._folders:
            FOLDERS[base] = self._folded(base)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        RULES.update(self._rules)
        FOLDERS.update(self._folders)

    def _counted(self, base: str, rule: Rule) -> Rule:
        def run(cx: Cx, inst: Inst) -> None:
            if self.count >= self.limit:
                return
            before, text = _state(inst), inst_text(inst, cx.fn)
            rule(cx, inst)
            if _state(inst) != before:
                self._note(base, text, cx, inst)

        return run

    def _folded(self, base: str) -> Callable[[Cx, Inst], bool]:
        fold = self._folders[base]

        def run(cx: Cx, inst: Inst) -> bool:
            if self.count >= self.limit:
                return False
            text = inst_text(inst, cx.fn)
            done = fold(cx, inst)
            if done:
                self._note(base, text, cx, inst)
            return done

        return run

    def _note(self, base: str, text: str, cx: Cx, inst: Inst) -> None:
        self.count += 1
        self.last = f"rule of {base}: {text.strip()} -> {inst_text(inst, cx.fn).strip()}"


def _state(inst: Inst) -> tuple[int, tuple[int, ...], tuple[int, ...], int, int]:
    return inst.op.ident, tuple(inst.dst), tuple(inst.src), inst.guard, inst.old
