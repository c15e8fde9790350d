import pytest

from orias.ori.text import dump
from orias.ori.verify import verify
from orias.regalloc.check import check
from orias.regalloc.expand import Trace
from orias.regalloc.run import allocate_registers
from tests.regalloc.interp import Machine, widths_of
from tests.regalloc.random_ori import random_function


def round_trip(seed: int, blocks: int, size: int, max_regs: int = 255, **options: object) -> None:
    fn = random_function(seed, blocks, size, **options)
    assert verify(fn) == []
    text = dump(fn)
    widths = widths_of(fn)
    want = Machine(fn, widths).run()
    fn.max_regs = max_regs
    trace = Trace()
    allocate_registers(fn, trace=trace)
    assert verify(fn) == []
    assert trace.before is not None
    faults = check(trace.before, fn, trace.items)
    assert faults == [], text + dump(fn) + "\n".join(faults[:3])
    assert fn.reg_count <= max_regs
    if not options.get("undefined"):
        assert Machine(fn, widths).run() == want, text + dump(fn)


@pytest.mark.parametrize("seed", range(150))
def test_random_functions(seed: int) -> None:
    round_trip(seed, 1 + seed % 12, 1 + seed % 9)
