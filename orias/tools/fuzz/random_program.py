"""A random program under construction: its variables, constants and statements."""

import random
from collections.abc import Callable
from typing import Final

from orias.ptx.targets import FIRST_VERSION, suffix_of
from orias.target.profile import TARGETS, Target
from orias.tools.fuzz.interesting import BITS, DOUBLES, FILES, FLOATS, INTS

_GROWTH: Final = {"h": 12, "r": 6, "d": 10, "f": 10, "g": 20, "p": 15, "u": 1000}


class Program:
    """A program under construction; ``lines`` collects its statements.  ``statement``: emits one of any kind, simple or compound."""

    def __init__(self, seed: int, budget: int, arch: str, statement: "Callable[[Program], None]") -> None:
        self.rng = random.Random(seed)
        self.seed = seed
        self.left = budget
        self.target: Target = TARGETS[arch]
        self.later = FIRST_VERSION[suffix_of(arch)] >= (8, 6)
        """The target has what sm_100 introduced."""
        self.lines: list[str] = []
        self._statement = statement
        self.labels = 0
        self.temps: dict[str, int] = dict.fromkeys(FILES, 0)
        self.depth = 0
        self.uniform = True
        self.functions: list[tuple[str, list[str], str]] = []
        self.in_function = False
        self.counts = {f: min(n, 2 + (f in "rp") + budget // _GROWTH[f]) for f, (_, _, n) in FILES.items()}

    def has(self, feature: int) -> bool:
        """Whether the target has a feature of :mod:`orias.target.features`."""
        return self.target.has(feature)

    # -- operands

    def new(self, file: str) -> str:
        """A new register, for a value that is used immediately."""
        self.temps[file] += 1
        return f"%t{file}{self.temps[file]}"

    def var(self, file: str) -> str:
        """A variable."""
        return f"%{file}{self.rng.randrange(self.counts[file])}"

    def names(self, file: str, count: int) -> list[str]:
        """Several different variables."""
        self.counts[file] = max(self.counts[file], count)
        return [f"%{file}{k}" for k in self.rng.sample(range(self.counts[file]), count)]

    def src(self, file: str, constants: float = 0.25) -> str:
        """A variable or a constant."""
        if file != "p" and self.rng.random() < constants:
            return self.constant(file)
        if file == "r" and not self.in_function and self.rng.random() < 0.08:
            return self.var("u")
        return self.var(file)

    def bits(self, file: str) -> str:
        """A float whose bits are used: a fixed value replaces a NaN, because the payload of a NaN is not defined."""
        return self._number(file, "0f7FC00000" if file == "f" else "0d7FF8000000000000")

    def number(self, file: str) -> str:
        """A float that is no NaN."""
        return self._number(file, "0f3FC00000" if file == "f" else "0d4000000000000000")

    def _number(self, file: str, instead: str) -> str:
        x, is_nan, out = self.var(file), self.new("p"), self.new(file)
        t = FILES[file][1]
        self.plain(f"setp.nan.{t} {is_nan}, {x}, {x};")
        self.plain(f"selp.{t} {out}, {instead}, {x}, {is_nan};")
        return out

    def seen(self, file: str, constants: float = 0.25) -> str:
        """A source whose bits are used."""
        return self.bits(file) if file in "fg" else self.src(file, constants)

    def constant(self, file: str) -> str:
        """A constant of a file's width."""
        r = self.rng
        if file == "f":
            return f"0f{r.choice(FLOATS) if r.random() < 0.8 else r.getrandbits(32):08X}"
        if file == "g":
            return f"0d{r.choice(DOUBLES) if r.random() < 0.8 else r.getrandbits(64):016X}"
        bits = BITS[file]
        value = r.choice(INTS[bits]) if r.random() < 0.8 else r.getrandbits(bits)
        if value >> (bits - 1) and r.random() < 0.5:
            value -= 1 << bits
        return str(value)

    def emit(self, text: str) -> None:
        """Emits a statement; one in six is guarded."""
        if self.rng.random() < 0.16 and not text.startswith(("{", "@")):
            text = f"@{self.rng.choice(('', '!'))}{self.var('p')} {text}"
        self.lines.append(text)

    def plain(self, text: str) -> None:
        """Emits a statement that must not be guarded."""
        self.lines.append(text)

    def label(self) -> str:
        """A new label."""
        self.labels += 1
        return f"L{self.labels}"

    # -- statements

    def block(self, count: int) -> None:
        """Emits `count` statements."""
        for _ in range(count):
            if self.left <= 0:
                return
            self.left -= 1
            self._statement(self)
