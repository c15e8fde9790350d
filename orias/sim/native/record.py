"""One instruction on its way to a record of ``vector.c``."""

from orias.isa.operand import (
    ABS,
    INV,
    K_CONST,
    K_IMM,
    K_P,
    K_R,
    K_UP,
    K_UR,
    NEG,
    S_NONE,
    S_U32,
    SUFFIX_MASK,
    Opnd,
    const_bank,
    const_offset,
    is_pred,
    is_zero_reg,
    kind_of,
    payload,
    suffix_of,
)
from orias.sim.core.site import Site
from orias.sim.native.record_format import BANKS, FALSE, NOWHERE

REGISTER, IMMEDIATE, CONSTANT, UNIFORM = range(4)
"""Kinds of sources."""
_F_ABS, _F_SIGN, _F_INV, _F_NEG, _I_ABS, _UNSIGNED_WORD = 1, 2, 4, 8, 16, 64


class Unknown(Exception):
    """The C code does not have this form."""


class Record:
    """One instruction on its way to a record."""

    def __init__(self, s: Site) -> None:
        self.s = s
        self.code = ""
        self.d = -1
        self.sources: list[tuple[int, int, int, int]] = []
        """Kind, flags, value and upper word or bank."""
        self.p = [FALSE, FALSE, FALSE]
        self.q = [NOWHERE, NOWHERE]
        self.x = self.y = self.z = 0
        self.top = self.top_uniform = 0
        """The highest registers that are read, of the file of results and of the uniform file."""
        self.words = 1
        """Registers that a load fills, or of which a store takes its data."""

    def only(self, *mods: str) -> None:
        """Refuses modifiers that are not named."""
        if set(self.s.op.mods) - set(mods):
            raise Unknown

    def result(self, o: Opnd) -> None:
        """The register of the result."""
        file = K_UR if self.s.uniform else K_R
        if kind_of(o) != file or o & SUFFIX_MASK:
            raise Unknown
        self.d = -1 if is_zero_reg(o) else payload(o)

    def _source(self, o: Opnd, flags: int, wide: bool) -> None:
        k, p = kind_of(o), payload(o)
        if suffix_of(o) != S_NONE:
            if not (wide and suffix_of(o) == S_U32):
                raise Unknown
            flags |= _UNSIGNED_WORD
        last = p + 1 if wide and not flags & _UNSIGNED_WORD else p
        if is_zero_reg(o):
            self.sources.append((IMMEDIATE, flags & ~_UNSIGNED_WORD, 0, 0))
        elif k == K_R and not self.s.uniform:
            self.top = max(self.top, last)
            self.sources.append((REGISTER, flags, p, 0))
        elif k == K_UR:
            self.top = max(self.top, last) if self.s.uniform else self.top
            self.top_uniform = max(self.top_uniform, last)
            self.sources.append((REGISTER if self.s.uniform else UNIFORM, flags, p, 0))
        elif k == K_IMM:
            self.sources.append((IMMEDIATE, flags, p & 0xFFFFFFFF, p >> 32 & 0xFFFFFFFF))
        elif k == K_CONST and const_bank(o) in BANKS and const_offset(o) % 4 == 0:
            self.sources.append((CONSTANT, flags, const_offset(o) >> 2, const_bank(o)))
        else:
            raise Unknown

    def integer(self, o: Opnd, wide: bool = False) -> None:
        """A word (or with `wide` a pair) with its flags."""
        flags = (_I_ABS if o & ABS else 0) | (_F_INV if o & INV else 0) | (_F_NEG if o & NEG else 0)
        if wide and flags & _I_ABS:
            raise Unknown
        self._source(o, flags, wide)

    def real(self, o: Opnd, wide: bool = False) -> None:
        """A float with its flags."""
        self._source(o, (_F_ABS if o & ABS else 0) | (_F_SIGN if o & NEG else 0), wide)

    def predicate(self, k: int, o: Opnd) -> None:
        """Source predicate `k`."""
        self.p[k] = self.condition(o)

    def condition(self, o: Opnd) -> int:
        """The code of a predicate."""
        file, p = kind_of(o), payload(o)
        inverted = 8 if o & INV else 0
        if file not in (K_P, K_UP):
            raise Unknown
        if p == 7:
            return 7 | inverted
        if self.s.uniform:
            if file != K_UP:
                raise Unknown
            return p | inverted
        return p | inverted | (16 if file == K_UP else 0)

    def flags(self) -> None:
        """The predicates of the result."""
        file = K_UP if self.s.uniform else K_P
        if len(self.s.preds) > 2:
            raise Unknown
        for k, o in enumerate(self.s.preds):
            if payload(o) != 7:
                if kind_of(o) != file:
                    raise Unknown
                self.q[k] = payload(o)

    def has(self, *mods: str) -> bool:
        """Whether any of the modifiers is there."""
        return any(self.s.has(x) for x in mods)


def split_sources(s: Site) -> tuple[list[Opnd], list[Opnd]]:
    """Sources that are no predicates, and predicates."""
    return [o for o in s.src if not is_pred(o)], [o for o in s.src if is_pred(o)]
