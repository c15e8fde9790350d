"""Which thread's store puts a value into a word of memory."""

from typing import Any

import numpy as np
import numpy.typing as npt

from orias.check.touch import touch
from orias.isa.operand import K_R, imm_value, in_file, is_imm, reg_id
from orias.sim.core.image import Image
from orias.sim.core.state import Active, Machine
from orias.tools.validate.case import Case
from orias.tools.validate.run_case import REGIONS_FROM, Place, run

Arr = npt.NDArray[Any]


class _Watcher:
    """Before each run of one instruction, looks for the thread whose address covers the word."""

    def __init__(self, image: Image, m: Machine, index: int, word: int, before: int, found: list[int]) -> None:
        self.m, self.index, self.word, self.before, self.found = m, index, word, before, found
        self._pc = -1
        d = image.decoded(index)
        self._pairs = [reg_id(o) for o in d.src if in_file(o, K_R)] if d is not None else []
        self._offsets = [0, *(_signed(imm_value(o)) for o in d.src if is_imm(o))] if d is not None else [0]
        self._wide = d is not None and not touch(d).unknown

    def issue(self, pc: int, cur: Active) -> None:
        self._pc = pc

    def read(self, act: Active) -> None:
        if self._pc != self.index or not self._wide:
            return
        for r in self._pairs:
            if not 0 <= r < 254:
                continue
            address = self.m.pair(r, act.sel).astype(np.int64)
            for offset in self._offsets:
                near = self.word - (address + offset)
                hit = (near >= 0) & (near < 32)
                if hit.any():
                    lane = int(np.argmax(np.where(hit, -near, -1 << 40)))
                    self.found.append(self.before + int(act.index[lane]))
                    return

    def done(self, cur: Active, act: Active | None) -> None:
        pass


def _signed(v: int) -> int:
    v &= 0xFFFFFFFF
    return v - (1 << 32) if v >> 31 else v


def _address(image: Image, case: Case, place: Place) -> int:
    name, offset = place
    if not name.startswith("#"):
        return image.variables[name][0] + offset
    regions = [r for p in case.pointers.values() for r in (p, p.inner) if r is not None]
    at = REGIONS_FROM
    for k, r in enumerate(regions):
        at = -(-at // 256) * 256
        if k == int(name[1:]):
            return image.arena.base + at + offset
        at += r.size + 4096
    return -1


def storing_thread(image: Image, case: Case, options: dict[str, Any], place: Place, index: int, more: int) -> int:
    """The number of the last thread that stores to a place with the instruction at `index`, -1 if none is seen.

    Threads are numbered through the launch, blocks padded to whole warps.  `more`: the code may take this many times the
    steps of the case.
    """
    found: list[int] = []
    word = _address(image, case, place)
    if word < 0:
        return -1
    before = 0

    def timing(m: Machine) -> Any:
        nonlocal before
        watcher = _Watcher(image, m, index, word, before, found)
        before += m.threads
        return watcher

    steps, case.max_steps = case.max_steps, case.max_steps * more
    try:
        run(image, case, **options, timing=timing)
    finally:
        case.max_steps = steps
    return found[-1] if found else -1
