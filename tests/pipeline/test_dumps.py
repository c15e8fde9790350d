"""A dump holds everything: functions read back from their dumps after any phase finish to the same bytes."""

from pathlib import Path

import pytest

from orias.compiler import compile_text
from orias.diag import CompileError
from orias.isa.op import op
from orias.isa.operand import K_P, K_R, r
from orias.knobs.knob_settings import from_dict
from orias.options import Options
from orias.ori.clone import clone, restore
from orias.ori.ir import Block, CallInfo, Clobbers, ConstantPool, Func, JumpTable, Location, SharedSpills
from orias.ori.text import dump, parse
from orias.pipeline.phases import PHASES
from orias.target.profile import target
from tests.corpus.test_corpus import needs_objects
from tests.kernels.test_kernels import NAMES, NEEDS_80, source
from tests.ptx.corpus import corpus_files, targets
from tests.rotation import rotating, with_level

ARCHES = ("sm_75", "sm_80", "sm_87", "sm_89", "sm_90", "sm_90a")
WHOLE = ("saxpy", "reduce", "funcptr")
"""Kernels that are replaced after one phase at a time."""
ARCH_OF_EACH = {
    name: "sm_80" if name in NEEDS_80 else ("sm_75", "sm_80", "sm_90")[k % 3] for k, name in enumerate(NAMES)
}
WGMMA = Path(__file__).parents[1] / "wgmma"


def options(arch: str, level: int, **fields: object) -> Options:
    o = Options(arch, level)
    for name, value in fields.items():
        setattr(o, name, value)
    return o


def read_back(fn: Func) -> None:
    """Replace a function by its dump; the section's constant pool, and what its functions write, stay one for all its functions."""
    text = dump(fn)
    again = parse(text)
    assert dump(again) == text
    if fn.pool is not None:
        assert again.pool is not None
        assert (again.pool.start, again.pool.owner, again.pool.values) == (fn.pool.start, fn.pool.owner, fn.pool.values)
    again.pool = fn.pool
    # Filled while functions are compiled, one for all of the section as well.
    assert again.callee_writes == fn.callee_writes
    again.callee_writes = fn.callee_writes
    restore(fn, again)


def bytes_of(text: str, o: Options, phases: set[str] | None = None) -> bytes:
    """The cubin; every function is read back after each of the phases."""

    def trace(phase: str, fn: Func) -> None:
        if phases is not None and phase in phases:
            read_back(fn)

    return compile_text([("k.ptx", text)], o, trace).data


EVERY = {p.name for p in PHASES}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("name", "arch", "level"), with_level([(name, ARCH_OF_EACH[name]) for name in NAMES]))
def test_all_phases(name: str, arch: str, level: int) -> None:
    want = bytes_of(source(name), options(arch, level))
    assert bytes_of(source(name), options(arch, level), EVERY) == want


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("name", WHOLE)
def test_each_phase(name: str, level: int) -> None:
    want = bytes_of(source(name), options("sm_90", level))
    for phase in PHASES:
        if str(level) in phase.levels:
            assert bytes_of(source(name), options("sm_90", level), {phase.name}) == want, phase.name


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    "fields",
    [
        {"debug": True},
        {"lineinfo": True},
        {"compile_only": True},
        {"maxrregcount": 24},
        {"stack_check": True},
        {"stack_guard": 1, "cloning": False},
    ],
)
def test_options(fields: dict[str, object]) -> None:
    level = 0 if "debug" in fields else 3
    for name in ("bfs", "params", "matmul"):
        want = bytes_of(source(name), options("sm_80", level, **fields))
        assert bytes_of(source(name), options("sm_80", level, **fields), EVERY) == want


def refused_or_equal(text: str, o: list[Options]) -> None:
    """`o`: equal options for each of the compiles."""
    try:
        want = bytes_of(text, o[0])
    except CompileError as e:
        with pytest.raises(CompileError) as other:
            bytes_of(text, o[1], EVERY)
        assert str(other.value) == str(e)
        return
    assert bytes_of(text, o[1], EVERY) == want


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("level", [0, 3])
def test_warpgroups(level: int) -> None:
    for path in rotating(sorted(WGMMA.rglob("*.ptx")), 1, f"dumps {level}"):
        refused_or_equal(path.read_text(), [options("sm_90a", level) for _ in range(2)])


@pytest.mark.sweep
@pytest.mark.parametrize("level", [0, 1, 3])
def test_corpus(level: int) -> None:
    for path in rotating(corpus_files(), 40, f"dumps {level}"):
        text = path.read_text(errors="replace")
        if len(text) < 200_000:
            for arch in rotating(targets(text, ARCHES), 1, path.name):
                objects = needs_objects(text)
                print(path, arch)
                refused_or_equal(text, [options(arch, level, compile_only=objects) for _ in range(2)])


@pytest.mark.sweep
@pytest.mark.parametrize("level", [0, 3])
def test_each_phase_of_corpus(level: int) -> None:
    for path in rotating(corpus_files(), 12, f"single dumps {level}"):
        text = path.read_text(errors="replace")
        if len(text) < 20_000:
            for arch in rotating(targets(text, ARCHES), 1, path.name):
                objects = needs_objects(text)
                want = bytes_of(text, options(arch, level, compile_only=objects))
                for phase in PHASES:
                    got = bytes_of(text, options(arch, level, compile_only=objects), {phase.name})
                    assert got == want, (path, arch, phase.name)


def full() -> Func:
    """A function in which no fact is as in a new one."""
    fn = Func("k", target("sm_90"), "helper")
    fn.state = "allocated"
    first, second = fn.new_block(), fn.new_block()
    fn.blocks = [first, second]
    fn.link(first, second)
    fn.link(first, second)
    second.cold = second.no_unroll = True
    add = fn.new_inst(op("FADD"), [r(3)], [r(4), r(5)])
    call = fn.new_inst(op("CALL.REL.NOINC"), [], [fn.sym("f", "func", 4)])
    jump = fn.new_inst(op("BRX"), [], [r(4)], loc=7)
    jump.ctl = 0x12345
    first.insts = [add, call, jump]
    second.insts = [fn.new_inst(op("EXIT"), [], [])]
    fn.new_vreg(K_R, 2)
    fn.names = {256: [("%r1", "u64"), ("%r2", "b64")]}
    info = CallInfo("f", "abi", 1, 2, 3, 4, 5)
    info.exact = info.outside = True
    fn.calls = {call.uid: info}
    fn.contract, fn.retries = {1}, {2}
    fn.tables = {jump.uid: JumpTable(8, [0, 1, 0])}
    fn.pool = ConstantPool(16, "k")
    fn.pool.place(5)
    fn.parted = frozenset((second.id,))
    fn.expanded = fn.private = fn.moves_stack = fn.no_unroll = fn.stack_check = fn.guards_frame = True
    fn.guard_traps, fn.spill_code = {3}, {2}
    fn.beside_async_copies = fn.samples_quads = fn.wgmma_crossing = fn.spares_uniform = True
    fn.implied = {1: 0xFF}
    fn.assigned, fn.keep_warp_barriers = {3: ["%r1", "%r2"]}, True
    fn.locations = [Location("%r1", "u64", 1, K_P, 3, 1, 4)]
    fn.variables = {"%r2": [9], "%r9": [12, 17]}
    fn.callee_writes = {"f": 0xFF, "g": 0x10}
    fn.remarks = [(7510, 3)]
    fn.frame_fixed, fn.frame_align, fn.frame_size = 8, 16, 16
    fn.frame_variables = [(0, 6), (8, 8)]
    fn.max_regs, fn.reg_count, fn.most_warps, fn.block_warps = 64, 32, 48, 16
    fn.packed = 28
    fn.spill_stores, fn.spill_loads, fn.quad_registers, fn.entry_regs = 4, 12, 0xF0, 168
    fn.shared_spills, fn.spill_base, fn.shared_end = SharedSpills(64, 4096, 96, (32, 3)), 0, 448
    fn.slots_at = 0x390
    fn.wgmma_crossing_remark, fn.wgmma_serial = 7509, 7511
    fn.clobbers = Clobbers(1, 2, 3, 4, 5)
    fn.knobs = from_dict({"HoistBudget": 3, "DisablePhases": "GvnCse+OriDoRemat"}).values("k", [])
    return fn


def plain(value: object) -> object:
    """A value that can be compared, without the identity of objects."""
    if isinstance(value, Block):
        return (
            value.id,
            value.cold,
            value.no_unroll,
            [s.id for s in value.succs],
            [p.id for p in value.preds],
            plain(value.insts),
        )
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (str, int, bytes, bytearray, set, frozenset)) or value is None:
        return value
    names = [n for n in dir(value) if not n.startswith("__") and not callable(getattr(value, n))]
    return {n: plain(getattr(value, n)) for n in names}


FACTS = [n for n in dir(full()) if not n.startswith("_") and n != "decisions" and not callable(getattr(full(), n))]
"""What dumps and copies keep; decisions are a record of the run, not a fact of the function."""


@pytest.mark.parametrize("name", FACTS)
def test_every_fact_survives(name: str) -> None:
    fn, new = full(), Func("", target("sm_75"))
    assert plain(getattr(fn, name)) != plain(getattr(new, name)), "the example says nothing of this fact"
    assert plain(getattr(parse(dump(fn)), name)) == plain(getattr(fn, name))
    assert plain(getattr(clone(fn), name)) == plain(getattr(fn, name))
    other = Func(fn.name, fn.target, fn.kind)
    restore(other, clone(fn))
    assert plain(getattr(other, name)) == plain(getattr(fn, name))
