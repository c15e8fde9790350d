"""The text of a function after each phase, kept as runs of numbered lines so that what stays costs nothing."""

from bisect import bisect_left
from collections import Counter
from typing import Any, Final, final

from orias.analysis.liveness import liveness
from orias.ori.ir import Block, Func, Inst
from orias.ori.text import inst_text
from orias.passes.remat import words_needed

_LIVENESS_BLOCKS: Final = 4000
"""Blocks up to which live words are counted after each phase."""


@final
class FunctionHistory:
    """The states of one function.  ``record``: called after each phase; ``final``: (uid, PTX line) of the finished code in order."""

    __slots__ = ("_ids", "_last", "_texts", "final", "kind", "lines", "name", "phases")

    def __init__(self, name: str, kind: str) -> None:
        self.name: Final[str] = name
        self.kind: Final[str] = kind
        self.lines: Final[list[list[Any]]] = []
        """[text, PTX line, uid] of each distinct line; uid 0: the head of a block."""
        self.phases: Final[list[dict[str, Any]]] = []
        self.final: list[tuple[int, int]] = []
        self._ids: Final[dict[tuple[str, int, int], int]] = {}
        self._texts: Final[dict[int, tuple[tuple[Any, ...], int]]] = {}
        """Uid -> what an instruction was when it was last written, and the number of its line."""
        self._last: list[int] = []

    def record(self, phase: str, fn: Func) -> None:
        """Note the state of the function after a phase."""
        now: list[int] = []
        for b in fn.blocks:
            now.append(self._line(_head(b), 0, 0))
            now.extend(self._instruction(i, fn) for i in b.insts)
        entry: dict[str, Any] = {"name": phase, "changed": now != self._last}
        if entry["changed"]:
            before, after = Counter(self._last), Counter(now)
            entry["removed"] = sum((before - after).values())
            entry["added"] = sum((after - before).values())
            entry["moved"] = _moved(self._last, now)
            entry["instructions"] = sum(len(b.insts) for b in fn.blocks)
            entry["blocks"] = len(fn.blocks)
            entry["lines"] = _runs(now)
            if fn.state in ("ssa", "virtual") and len(fn.blocks) <= _LIVENESS_BLOCKS:
                lv = liveness(fn)
                entry["live_words"] = max(words_needed(fn, lv).values())
        self.phases.append(entry)
        self._last = now
        self.final = [(i.uid, i.loc) for b in fn.blocks for i in b.insts]

    def data(self) -> dict[str, Any]:
        """The whole history, for JSON."""
        return {"name": self.name, "kind": self.kind, "lines": self.lines, "phases": self.phases}

    def _instruction(self, i: Inst, fn: Func) -> int:
        state = (i.op.ident, tuple(i.dst), tuple(i.src), i.guard, i.old, i.ctl, i.loc, i.uid in fn.contract)
        known = self._texts.get(i.uid)
        if known is not None and known[0] == state:
            return known[1]
        text = inst_text(i, fn)
        if i.loc:
            text = text[: text.rindex(" ; @")]
        number = self._line(text, i.loc, i.uid)
        self._texts[i.uid] = state, number
        return number

    def _line(self, text: str, ptx_line: int, uid: int) -> int:
        key = (text, ptx_line, uid)
        number = self._ids.get(key)
        if number is None:
            number = self._ids[key] = len(self.lines)
            self.lines.append([text, ptx_line, uid])
        return number


def _head(b: Block) -> str:
    head = f"b{b.id}:"
    if b.succs:
        head += " -> " + " ".join(f"b{s.id}" for s in b.succs)
    return head + " ; cold" * b.cold


def _moved(before: list[int], now: list[int]) -> int:
    """How many of the lines of both states have to change their place: all but those of the longest sequence that is in order."""
    place = {n: k for k, n in enumerate(before)}
    order = [place[n] for n in now if n in place]
    ends: list[int] = []
    """The least place with which a sequence in order of each length can end."""
    for k in order:
        at = bisect_left(ends, k)
        if at == len(ends):
            ends.append(k)
        else:
            ends[at] = k
    return len(order) - len(ends)


def _runs(numbers: list[int]) -> list[list[int]]:
    """[first, count] of the stretches of consecutive numbers."""
    out: list[list[int]] = []
    for n in numbers:
        if out and out[-1][0] + out[-1][1] == n:
            out[-1][1] += 1
        else:
            out.append([n, 1])
    return out


@final
class Histories:
    """The trace of a compile: the history of each function, in the order in which they are first seen."""

    __slots__ = ("_of", "found")

    def __init__(self) -> None:
        self.found: Final[list[FunctionHistory]] = []
        self._of: Final[dict[int, tuple[Func, FunctionHistory]]] = {}

    def __call__(self, phase: str, fn: Func) -> None:
        """Note the state of a function after a phase."""
        known = self._of.get(id(fn))
        if known is None or known[0] is not fn:
            known = fn, FunctionHistory(fn.name, fn.kind)
            self._of[id(fn)] = known
            self.found.append(known[1])
        known[1].record(phase, fn)
