"""Solves the equations of lengths: how many units the Mercury instruction of a *same* or *head* form has."""

from collections import Counter, defaultdict

from tools.capsules.samples import Equation, Shape

_ROUNDS = 20
_MOST = 4
"""The most units of an instruction."""
_FAMILY = ("X", "EX", "WIDE", "HI", "S64", "U64", "64")
"""Modifiers that change the length."""


class Lengths:
    """Lengths by shape, and what was left over: ``contradictions`` counts equations that do not hold."""

    def __init__(self, equations: set[Equation]) -> None:
        self.known: dict[Shape, int] = {}
        self.contradictions = 0
        self.equations = len(equations)
        self._solve(equations)
        self._exact: dict[tuple[str, tuple[str, ...]], set[int]] = defaultdict(set)
        self._base: dict[tuple[str, tuple[str, ...]], set[int]] = defaultdict(set)
        self._loose: dict[tuple[str, tuple[str, ...]], set[int]] = defaultdict(set)
        for (name, kinds), units in self.known.items():
            self._exact[family(name), kinds].add(units)
            self._base[name.split(".")[0], kinds].add(units)
            self._loose[family(name), loose(kinds)].add(units)

    def _solve(self, equations: set[Equation]) -> None:
        left = [(dict(terms), units) for terms, units in sorted(equations)]
        for _ in range(_ROUNDS):
            votes: dict[Shape, Counter[int]] = defaultdict(Counter)
            following = []
            for terms, units in left:
                unknown = {s: n for s, n in terms.items() if s not in self.known}
                rest = units - sum(self.known[s] * n for s, n in terms.items() if s in self.known)
                if not unknown:
                    self.contradictions += rest != 0
                    continue
                following.append((unknown, rest))
                if len(unknown) == 1:
                    ((s, n),) = unknown.items()
                    if rest % n == 0 and 1 <= rest // n <= _MOST:
                        votes[s][rest // n] += 1
                elif rest == sum(unknown.values()):
                    for s in unknown:
                        votes[s][1] += 1
            for s, found in votes.items():
                self.known[s] = found.most_common(1)[0][0]
            left = following
            if not votes:
                break

    def of(self, s: Shape, guess: bool = True) -> int | None:
        """The length of a shape, from itself or from others of its operation if these agree; `guess`: also with other hardwired operands."""
        name, kinds = s
        if s in self.known:
            return self.known[s]
        for found in (
            self._exact.get((family(name), kinds)),
            self._base.get((name.split(".")[0], kinds)),
            self._loose.get((family(name), loose(kinds))) if guess else None,
        ):
            if found is not None and len(found) == 1:
                return next(iter(found))
        return None

    def alike(self, s: Shape) -> list[Shape]:
        """Known shapes of the same family that differ only in what is hardwired."""
        return [
            (s[0], kinds)
            for (name, kinds), units in self._exact.items()
            if name == family(s[0]) and len(units) == 1 and loose(kinds) == loose(s[1])
        ]


def family(name: str) -> str:
    """The operation with the modifiers that change the length."""
    base, *modifiers = name.split(".")
    return ".".join([base, *(m for m in modifiers if m in _FAMILY)])


def loose(kinds: tuple[str, ...]) -> tuple[str, ...]:
    """The kinds of operands without what is hardwired."""
    return tuple(k.rstrip("ztf") if k[0] in "RUPQ" else k for k in kinds)
