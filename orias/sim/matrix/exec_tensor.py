"""Builders for the matrix loads and stores LDSM and STSM; fragments as PTX documents them for ``ldmatrix``."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.operand import reg_plus
from orias.sim.core.sim_errors import Fault
from orias.sim.core.site import Exec, Site
from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import U16, U32
from orias.sim.matrix.exec_mma import gather, words_of
from orias.sim.matrix.fragments import GROUP, IN_GROUP
from orias.sim.sass.exec_mem import address32, shared_offsets

Arr = npt.NDArray[Any]
Builder = Callable[[Site], Exec]


def _matrices(s: Site) -> tuple[int, bool]:
    """(number of 8x8 matrices, transposed)."""
    if not s.has("16") or not (s.has("M88") or s.has("MT88")):
        raise s.unknown()
    return (4 if s.has("4") else 2 if s.has("2") else 1), s.has("MT88")


def _rows(m: Machine, a: Active, address: Arr, count: int) -> Arr:
    """Offsets of the matrix rows in shared memory: [warps, count, 8]."""
    a.need_whole_warps("a matrix instruction")
    where = np.flatnonzero((a.index & 31) < 8 * count)
    try:
        offset = shared_offsets(m, a, address[where], where, 16, 16)
    except Fault as f:
        raise Fault(f.error, f.message, int(where[f.lane])) from None
    return offset.reshape(-1, count, 8)


def ldsm(s: Site) -> Exec:
    """LDSM: each thread of a group of eight gives the address of one row of its matrix."""
    count, transposed = _matrices(s)
    get = address32(s, 0)
    puts = [s.set32(reg_plus(s.regs[0], r)) for r in range(count)]

    def run(m: Machine, a: Active) -> None:
        rows = _rows(m, a, get(m, a), count)
        data = m.shared.views[2][(rows[..., None] >> 1) + np.arange(8)]
        if transposed:
            data = data.transpose(0, 1, 3, 2)
        low = data[:, :, GROUP, 2 * IN_GROUP].astype(U32)
        high = data[:, :, GROUP, 2 * IN_GROUP + 1].astype(U32)
        words = low | (high << np.uint32(16))
        for r, put in enumerate(puts):
            put(m, a, a.gather(np.ascontiguousarray(words[:, r])))

    return run


def stsm(s: Site) -> Exec:
    """STSM: the inverse of LDSM."""
    count, transposed = _matrices(s)
    get = address32(s, 0)
    sources = words_of(s, s.src[4], count)

    def run(m: Machine, a: Active) -> None:
        rows = _rows(m, a, get(m, a), count)
        words = gather(sources, m, a)
        data = np.zeros((*rows.shape, 8), U16)
        for r in range(count):
            data[:, r, GROUP, 2 * IN_GROUP] = words[:, :, r] & np.uint32(0xFFFF)
            data[:, r, GROUP, 2 * IN_GROUP + 1] = words[:, :, r] >> np.uint32(16)
        if transposed:
            data = data.transpose(0, 1, 3, 2)
        m.shared.views[2][(rows[..., None] >> 1) + np.arange(8)] = data

    return run


BUILDERS: Final[dict[str, Builder]] = {"LDSM": ldsm, "STSM": stsm}
