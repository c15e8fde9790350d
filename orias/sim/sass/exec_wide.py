"""128-bit atomics: exchange and compare-and-swap, one thread after the other."""

from typing import Any

import numpy as np
import numpy.typing as npt

from orias.isa.operand import Opnd, is_zero_reg, payload, reg_plus
from orias.sim.core.site import Exec, Getter, Site
from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import U32
from orias.sim.sass.memory_places import places

Arr = npt.NDArray[Any]


def _word(o: Opnd, k: int) -> Opnd:
    """Register `k` of a quad."""
    return o if is_zero_reg(o) else reg_plus(o, k)


def atomic128(s: Site, space: int, address: Getter) -> Exec:
    """ATOM, ATOMG, ATOMS with ``.128``; `address` gives the threads' addresses in the space."""
    swap = s.has("CAS")
    if not swap and not s.has("EXCH"):
        raise s.unknown("128-bit atomics")
    sources = [[s.raw(_word(o, k)) for k in range(4)] for o in s.src[4 : 6 if swap else 5]]
    result = [] if payload(s.regs[0]) == 255 else [s.set32(_word(s.regs[0], k)) for k in range(4)]
    done = s.setp(s.preds[0]) if s.preds else None

    def run(m: Machine, a: Active) -> None:
        values = [np.stack([np.broadcast_to(g(m, a), (a.n,)) for g in quad]) for quad in sources]
        old = np.zeros((4, a.n), U32)
        for p in places(m, a, space, address(m, a), 16, 16):
            lanes = np.arange(a.n) if p.where is None else p.where
            view = p.flat.views[4]
            for lane, offset in zip(lanes, p.offset, strict=True):
                at = int(offset) >> 2
                held = view[at : at + 4].copy()
                old[:, lane] = held
                if not swap or bool((held == values[0][:, lane]).all()):
                    view[at : at + 4] = values[-1][:, lane]
        for k, put in enumerate(result):
            put(m, a, old[k])
        if done is not None:
            done(m, a, np.ones(a.n, np.bool_))

    return run
