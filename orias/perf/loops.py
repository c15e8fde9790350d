"""The loops of a kernel's code."""

from typing import Final, final

from orias.check.code import JUMPS, Node


@final
class Loop:
    """A natural loop: ``header`` and ``body`` (both indices of instructions, ``body`` ascending), ``depth`` from 1."""

    __slots__ = ("body", "depth", "header", "own")

    def __init__(self, header: int, body: list[int]) -> None:
        self.header: Final[int] = header
        self.body: Final[list[int]] = body
        self.depth: int = 1
        self.own: list[int] = body
        """The body without the bodies of inner loops."""


def successors(n: Node) -> list[int]:
    """The instructions that may follow one, calls taken as instructions."""
    out = list(n.targets) if n.flow == JUMPS else []
    if n.falls:
        out.append(n.index + 1)
    return out


def loops(nodes: list[Node]) -> list[Loop]:
    """The natural loops of the instructions that the first one reaches, by header; loops with one header are one."""
    after = [successors(n) for n in nodes]
    before: list[list[int]] = [[] for _ in nodes]
    back: dict[int, list[int]] = {}
    state = bytearray(len(nodes))
    stack: list[tuple[int, int]] = [(0, 0)] if nodes else []
    if nodes:
        state[0] = 1
    while stack:
        at, k = stack.pop()
        if k == len(after[at]):
            state[at] = 2
            continue
        stack.append((at, k + 1))
        to = after[at][k]
        before[to].append(at)
        if state[to] == 1:
            back.setdefault(to, []).append(at)
        elif state[to] == 0:
            state[to] = 1
            stack.append((to, 0))
    found = [Loop(h, _body(h, tails, before)) for h, tails in sorted(back.items())]
    for x in found:
        inside = set(x.body)
        inner = [y for y in found if y is not x and y.header in inside and len(y.body) < len(x.body)]
        x.depth = 1 + sum(1 for y in found if y is not x and x.header in set(y.body) and len(y.body) > len(x.body))
        taken = {i for y in inner for i in y.body}
        x.own = [i for i in x.body if i not in taken]
    return found


def _body(header: int, tails: list[int], before: list[list[int]]) -> list[int]:
    body = {header}
    work = [t for t in tails if t != header]
    while work:
        at = work.pop()
        if at not in body:
            body.add(at)
            work.extend(before[at])
    return sorted(body)
