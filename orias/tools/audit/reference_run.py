"""What the PTX allows a launch to leave in memory, and the first place where another outcome breaks it.

Where a word differs, the PTX runs again under other choices (:mod:`orias.sim.ptx.choice`), among them products that are
not rounded, because a compiler may fuse them with an addition.  A word that is the same under all of them must be the
same bits.  A word that moves a little is a float with an allowed error: the hull of its values, widened.  A word that
moves more is left open by the program.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.ptx.ast import Module
from orias.sim.core.image import Image
from orias.sim.core.sim_errors import Trap
from orias.sim.ptx import CANONICAL, CHOICES, Choice, PtxImage
from orias.sim.ptx.choice import ACROSS
from orias.tools.validate.case import Case
from orias.tools.validate.run_case import Outcome, Place, difference, run

Arr = npt.NDArray[Any]

_AT_ONCE: Final[tuple[Choice, ...]] = (
    CANONICAL._replace(fuse=1),
    CANONICAL._replace(fuse=2),
    CANONICAL._replace(fuse=ACROSS),
    CANONICAL._replace(product=1),
    CANONICAL._replace(product=-1),
    *(c for c in CHOICES if not c.serial),
)
"""The first five differ in what compilers do most often: they fuse products with additions, in one block and elsewhere."""
_MOST_SERIAL: Final = 200_000
"""Thread instructions above which threads are not run one after the other, or by other schedules, because that takes minutes."""
SCHEDULES: Final = (1, 2)
"""Seeds by which warps and divergent paths take turns in machine code."""
_SCHEDULED: Final[tuple[Choice, ...]] = tuple(CANONICAL._replace(schedule=seed) for seed in (1, 2, 3, 4))
"""The same for the PTX, to see whether its results depend on them."""
_ORDERS: Final[tuple[Choice, ...]] = (*(c for c in CHOICES if c.serial), *_SCHEDULED)
"""Orders of threads: where more than two of them store to a word, the one that is neither the first nor the last may win."""
_NARROW: Final = 2.0**-4
"""A float is one with an error if its values differ by less than this part of the largest."""
_TOGETHER: Final = 2
"""Choices that are tried before the words are looked at again."""
_WIDENED: Final = 2.0
"""The hull of the values is widened by this many times its width on either side."""
_STEP: Final[dict[str, float]] = {"f16": 2.0**-9, "bf16": 2.0**-6, "f32": 2.0**-21, "f64": 2.0**-50}
"""Relative width that is added to the hull: two units in the last place."""


def _values(words: Arr, t: str) -> Arr:
    """32-bit words as f64 values, [elements, words] (f64: pairs of words, the value at both)."""
    if t == "f32":
        return words.view(np.float32).astype(np.float64)[None]
    if t == "f64":
        even = words[: len(words) & ~1].view(np.float64)
        out = np.full(len(words), np.nan)
        out[: 2 * len(even)] = np.repeat(even, 2)
        return out[None]
    halves = np.stack((words & np.uint32(0xFFFF), words >> np.uint32(16))).astype(np.uint16)
    if t == "f16":
        return halves.view(np.float16).astype(np.float64)
    return (halves.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)


def _padded(data: Arr) -> Arr:
    return np.concatenate((data, np.zeros(-len(data) % 4, np.uint8))).view(np.uint32)


def wrong_words(alternatives: list[Arr], got: Arr, types: frozenset[str]) -> Arr:
    """A mask of the 32-bit words of `got` that no alternative allows; all are bytes of one region."""
    words = [_padded(a) for a in alternatives]
    have = _padded(got)
    equal = np.logical_or.reduce([have == w for w in words])
    if equal.all():
        return np.zeros(len(have), np.bool_)
    same = np.logical_and.reduce([words[0] == w for w in words[1:]]) if len(words) > 1 else np.ones(len(have), np.bool_)
    accepted = equal.copy()
    narrow_any = np.zeros(len(have), np.bool_)
    with np.errstate(all="ignore"):
        for t in sorted(types):
            known = np.stack([_values(w, t) for w in words])
            low, high = known.min(axis=0), known.max(axis=0)
            most = np.maximum(np.abs(low), np.abs(high))
            narrow = np.isfinite(low) & np.isfinite(high) & (high - low <= _NARROW * most)
            more = _WIDENED * (high - low) + _STEP[t] * most
            v = _values(have, t)
            inside = (v >= low - more) & (v <= high + more)
            narrow_any |= narrow.all(axis=0)
            accepted |= ~same & (narrow & inside).all(axis=0)
    left_open = ~same & ~narrow_any
    result: Arr = ~(accepted | left_open)
    return result


class Reference:
    """The outcomes that the PTX allows in one launch."""

    def __init__(
        self, module: Module, arch: str, case: Case, like: Image, outcome: Outcome, types: frozenset[str]
    ) -> None:
        self.module = module
        self.arch = arch
        self.case = case
        self.like = like
        self.outcome = outcome
        self.types = types
        self.undefined = ""
        """Why nothing follows from a difference that was asked for: the launch fails under another choice.  An audit clears it first."""
        self._others: list[Outcome] = []
        """The outcomes of the first choices: a run takes as long as the launch, so only what is asked for is run."""
        self.small: Final[bool] = outcome.instructions <= _MOST_SERIAL
        """Other orders of threads are tried."""
        self._choices: Final[tuple[Choice, ...]] = (*_AT_ONCE, *(_ORDERS if self.small else ()))
        self._ordered = -1

    def _first(self, count: int) -> list[Outcome]:
        """The outcomes under the first choices."""
        while len(self._others) < min(count, len(self._choices)):
            choice = self._choices[len(self._others)]
            self._others.append(run(PtxImage(self.module, self.arch, choice, self.like), self.case))
        return self._others[:count]

    def others(self) -> list[Outcome]:
        """The outcomes under all other choices."""
        return self._first(len(self._choices))

    def ordered(self) -> bool:
        """True if no order in which warps and divergent paths took turns changed a bit of the PTX's results."""
        if self._ordered < 0:
            self._ordered = 1
            for choice in _SCHEDULED:
                o = run(PtxImage(self.module, self.arch, choice, self.like), self.case)
                if difference(self.outcome, o) is not None:
                    self._ordered = 0
                    break
        return self._ordered == 1

    def difference(self, got: Outcome) -> Place | None:
        """The first place that differs from everything the PTX allows; None if there is none.

        ("error", 0) if the launch fails, ("output", 0) for printed text.
        """
        want = self.outcome
        if want.error is not None:
            # The PTX traps, and so must the machine code; how far other threads came is open.
            return None if isinstance(got.error, Trap) else ("error", 0)
        if got.error is not None:
            return None if self._fails(self.others()) else ("error", 0)
        regions = [(f"#{k}", x, got.regions[k]) for k, x in enumerate(want.regions)]
        variables = [(n, x, got.variables[n]) for n, x in want.variables.items() if n in got.variables]
        for name, x, y in [*regions, *variables]:
            if len(x) != len(y) or not (x != y).any():
                continue
            bad = self._bad_words(name, x, y)
            if bad is None:
                return None
            if bad.any():
                return name, 4 * int(np.argmax(bad))
        if want.output != got.output and all(o.output == want.output for o in self.others()):
            return "output", 0
        return None

    def _fails(self, outcomes: list[Outcome]) -> bool:
        """Whether the launch fails in one of some outcomes: the program leaves open whether it ends.  The first reason is kept."""
        for o in outcomes:
            if o.error is not None:
                self.undefined = self.undefined or f"the PTX leaves open whether the launch ends: {o.error}"
                return True
        return False

    def _bad_words(self, name: str, want: Arr, got: Arr) -> Arr | None:
        """A mask of the words that no choice allows; None if the launch fails under some choice.

        More choices allow more, so the first ones often suffice.
        """
        count = 0
        while True:
            count += _TOGETHER
            others = self._first(count)
            if self._fails(others):
                return None
            bad = wrong_words([want, *[self._part(o, name) for o in others]], got, self.types)
            if count >= len(self._choices) or not bad.any():
                return bad

    def wrong_count(self, got: Outcome) -> tuple[int, int]:
        """Numbers of wrong words, and of all words that the launch changes."""
        wrong = changed = 0
        for k, (x, y) in enumerate(zip(self.outcome.regions, got.regions, strict=True)):
            alternatives = [x, *[o.regions[k] for o in self.others()]]
            wrong += int(np.count_nonzero(wrong_words(alternatives, y, self.types)))
            start = self._before(k)
            if start is not None:
                changed += int(np.count_nonzero(_padded(x) != _padded(start)))
        return wrong, changed

    def _before(self, k: int) -> Arr | None:
        regions = [r for p in self.case.pointers.values() for r in (p, p.inner) if r is not None]
        return regions[k].bytes() if k < len(regions) and regions[k].inner is None else None

    @staticmethod
    def _part(o: Outcome, name: str) -> Arr:
        return o.regions[int(name[1:])] if name.startswith("#") else o.variables[name]
