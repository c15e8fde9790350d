"""The driver's functions that copy to shared memory of the cluster: ``__cuda_syscall_cp_async_bulk_*``.

Arguments as in :mod:`orias.lower.memory.cluster_copies`.  The policy is not looked at.
"""

import re
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.sim.core.sim_errors import Fault, IllegalInstruction
from orias.sim.core.state import Active, Machine
from orias.sim.sass.exec_copy import Bulk, Tensor, peers, signed
from orias.sim.sass.memory_places import LOCAL, places
from orias.target import abi
from orias.target.driver import COPIES

Arr = npt.NDArray[Any]
_NAME: Final = re.compile(COPIES + r"(?:tensor_([1-5])d_(tile|im2col)_)?(unicast|multicast)")
_FIRST: Final = abi.ARG_FIRST
_OFFSET_BITS: Final[dict[int, int]] = {3: 16, 4: 8, 5: 5}
_STACK: Final = 1


def copy(m: Machine, name: str, who: Active) -> None:
    """Executes a call by some threads: one copy per thread."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise Fault(IllegalInstruction, f"{name} is not simulated", 0)
    dim, mode, cast = found.groups()
    for i, thread in enumerate(who.index.tolist()):
        words = [int(m.R[n][thread]) for n in range(abi.ARG_LAST + 1)]
        to, source = words[_FIRST], words[_FIRST + 3] << 32 | words[_FIRST + 2]
        mask = words[_FIRST + (9 if dim else 5)]
        ranks = peers(m, i, mask & 0xFFFF) if cast == "multicast" else []
        if dim is None:
            bulk = Bulk(to, source, words[_FIRST + 4], words[_FIRST + 6])
            bulk.ranks = ranks
            bulk.issue(m, who, i, True, False)
            continue
        rank = int(dim)
        place = [signed(v) for v in words[_FIRST + 4 : _FIRST + 4 + rank]]
        tensor = Tensor(name, rank, place, to, words[_FIRST + 10])
        tensor.ranks = ranks
        if mode == "im2col":
            tensor.columns = True
            tensor.moves = _moves(m, Active(who.index[i : i + 1]), rank)
        tensor.issue(m, who, i, source, True)


def _moves(m: Machine, one: Active, rank: int) -> int:
    """The im2col offsets on the stack, packed as in the operation's word."""
    stack = (m.R[_STACK][one.sel] & np.uint32(0xFFFFFF)).astype(np.int64)
    word = 0
    for k in range(rank - 2):
        p = places(m, one, LOCAL, stack + 2 * k, 2, 2)[0]
        word |= int(p.flat.load(p.offset, 2)[0][0]) << _OFFSET_BITS[rank] * k
    return word
