"""The programs of the tests in shared modules, compiled by many processes: a GPU's time is not spent on one compile after another."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from typing import Final, NamedTuple

from tests.forms.items import COMPILERS, Item, items, module

_MOST: Final = 32
"""Programs of a module."""


class Module(NamedTuple):
    """Programs that share a module; program n is kernel ``kn``."""

    text: str
    level: int
    items: tuple[Item, ...]


def modules(family: str, compiler: str, arch: str) -> list[Module]:
    """The modules of a family: every program at every level that it is for."""
    out: list[Module] = []
    by_level: dict[int, list[Item]] = {}
    for item in items([family]):
        for level in item.settings(compiler, arch):
            if item.piece is None:
                out.append(Module(item.source(arch), level, (item,)))
            else:
                by_level.setdefault(level, []).append(item)
    for level, found in by_level.items():
        for k in range(0, len(found), _MOST):
            some = found[k : k + _MOST]
            out.append(Module(module(some, arch), level, tuple(some)))
    return out


def _made(compiler: str, text: str, arch: str, level: int) -> bytes | str:
    try:
        return COMPILERS[compiler](text, arch, level)
    except Exception as e:  # the first line says enough, and not every error can be sent between processes
        return f"{type(e).__name__} {e}"[:400]


def compiled(pool: Executor, found: Sequence[Module], compiler: str, arch: str) -> Iterator[tuple[Module, bytes | str]]:
    """Each module with its cubin, or with why there is none; a module that does not compile comes again as one of each program."""
    jobs = [(m, pool.submit(_made, compiler, m.text, arch, m.level)) for m in found]
    for m, job in jobs:
        data = job.result()
        if isinstance(data, str) and len(m.items) > 1:
            alone = [Module(i.source(arch), m.level, (i,)) for i in m.items]
            yield from compiled(pool, alone, compiler, arch)
        else:
            yield m, data
