"""The table of knobs: well formed, every knob read by the compiler, and no heuristic number outside of it."""

import ast
import functools
import re
from pathlib import Path

import orias
from orias.knobs.knob_table import KNOBS
from orias.knobs.knob_values import Knobs
from orias.pipeline.phases import PHASES

ROOT = Path(orias.__file__).parent
HEURISTICS = ("passes", "schedule", "regalloc", "pipeline")
"""Packages in which a module-level number is a knob, or stands in FACTS."""

READERS = HEURISTICS
"""Packages that read knobs, with the driver."""

FACTS = {
    "schedule/spread_reads.py:_NEAR": "instructions that the window of the ports can reach",
    "schedule/spread_reads.py:_LEAD": "the same, where reads fill a port over several products",
    "schedule/shared_sources.py:_SOURCES": "registers that a product reads",
    "schedule/shared_sources.py:_NEAR": "stall counts that keep a value in the reuse cache",
    "schedule/spread_reads.py:_READY": "stages of the pipeline",
    "schedule/spread_reads.py:_CHEAPER": "keeps the work in proportion to the code",
    "schedule/spread_reads.py:_FEW": "keeps the work in proportion to the code",
    "schedule/local_values.py:_MOST_VALUES": "keeps the work in proportion to the code",
    "passes/instrument.py:_PAUSE": "measured: the pause of ptxas",
    "passes/compare_chains.py:_MASK": "the bits of a word",
    "passes/access_size.py:_WORD": "bytes of a word",
    "passes/constant_groups.py:_WORD": "bytes of a word",
    "passes/constant_groups.py:_NO_SLOTS": "beyond every byte of a constant bank",
    "passes/uniform_atomics.py:_LAST_LANE": "lanes of the hardware",
    "regalloc/allocation_check.py:_SAME": "places of the checker",
    "regalloc/allocate.py:_LARGE": "keeps the work in proportion to the code",
    "regalloc/allocate.py:_HOPELESS": "ends attempts that do not succeed",
    "regalloc/allocate.py:_IN_VAIN": "ends attempts that do not succeed",
    "regalloc/allocate.py:_THREADS_FIT": "registers of a thread with which blocks of 1,024 threads fit",
    "regalloc/allocate.py:_ROOMY": "a part of those, for debugging only",
    "regalloc/allocate.py:_FEWER": "a part of those, for debugging only",
    "regalloc/allocate.py:_GROWTH": "a part of those, for debugging only",
    "regalloc/allocate.py:_TEMPORARY": "a part of those, for debugging only",
    "regalloc/allocate.py:_CALLED": "the same, in functions",
    "passes/joined_collectives.py:_STOP": "marks an operation of the whole warp",
    "passes/legalize.py:_PAIR": "registers of a constant of 64 bits",
    "passes/legalize.py:_BARRIER_THREADS": "the bits that the operation takes",
    "passes/exclusive_conditions.py:_LT": "bits of a set of relations",
    "passes/exclusive_conditions.py:_EQ": "bits of a set of relations",
    "passes/exclusive_conditions.py:_GT": "bits of a set of relations",
    "pipeline/estimated_time.py:_DEEPEST": "what a float holds",
    "passes/distant_predicates.py:_MOST": "instructions of a spill of a predicate",
    "passes/exclusive_conditions.py:_MOST_FACTS": "keeps the work in proportion to the code",
    "passes/local_words.py:_WORD": "bytes of a word",
    "passes/computed_places.py:_WORD": "bytes of a word",
    "passes/computed_places.py:_HALF": "bytes of half a word",
    "passes/computed_places.py:_FREE_ELEMENTS": "measured: when ptxas keeps an array in registers",
    "passes/computed_places.py:_LOOP_WEIGHT": "measured: when ptxas keeps an array in registers",
    "passes/computed_places.py:_DEEPEST": "keeps the weight in proportion",
    "passes/computed_places.py:_COST": "measured: when ptxas keeps an array in registers",
    "passes/computed_places.py:_GAIN": "measured: when ptxas keeps an array in registers",
    "passes/computed_places.py:_ALLOWANCE": "measured: when ptxas keeps an array in registers",
    "passes/stored_values.py:_WORD": "bytes of a word",
    "passes/stored_values.py:_WIDEST": "bytes of the widest access",
    "passes/barrier_reset.py:_BARRIERS": "named barriers of the hardware",
    "passes/float_bounds.py:UNKNOWN": "marks an unknown value",
    "passes/float_bounds.py:_DEPTH": "keeps the work in proportion to the code",
    "passes/float_bounds.py:_INFINITY": "pattern of a float",
    "passes/float_bounds.py:_SMALLEST_NORMAL": "pattern of a float",
    "passes/rules_float.py:_ONE": "pattern of a float",
    "passes/partial_unroll.py:_LARGEST_STEP": "keeps a difference within 32 bits",
    "passes/wide_accesses.py:_WORD": "bytes of a word",
    "passes/unroll.py:_FOLDS_TO": "keeps the work of folding in proportion to the result",
    "regalloc/allocate.py:_BITS": "registers of the largest file",
    "regalloc/allocate.py:_LONG": "tells accumulators of warpgroup operations from other vectors",
    "regalloc/allocation_check.py:_SLOT": "codes of the checker",
    "regalloc/allocation_check.py:_SP": "codes of the checker",
    "regalloc/allocation_check.py:_UNDEF": "codes of the checker",
    "regalloc/operation_needs.py:_FIRST_OF_TENSOR_MEMORY": "measured: the registers that ptxas keeps free",
    "regalloc/register_budget.py:_NO_LIMIT": "what -v says",
    "regalloc/stack_guard.py:_BYTES": "size of a guard, as in ptxas",
    "regalloc/stack_guard.py:_WORD": "bytes of a word",
    "regalloc/allocation_check.py:_ROW": "codes of the checker",
    "regalloc/shared_spills.py:_MOST_THREADS": "threads of the largest block",
    "regalloc/shared_spills.py:_WARP": "threads of a warp",
    "regalloc/shared_spills.py:_WORD": "bytes of a word",
    "regalloc/coalesce.py:_ANY_SPAN": "registers of the largest file",
    "regalloc/coalesce.py:_FAR": "more than any point",
    "regalloc/coalesce.py:_LONG_ALIGN": "alignment of the encoding",
    "regalloc/shared_spills.py:_ALIGN": "where ptxas begins the rows",
    "regalloc/coalesce.py:_TIE_WEIGHT": "more than any move: the operation needs it",
    "regalloc/recompute.py:_PLAIN": "an operation and one constant",
    "regalloc/recompute.py:_SLOW": "special registers are late, as two operations",
    "regalloc/register_allocation.py:_TRIES": "no instruction has this number",
    "regalloc/pack.py:_ORDERS": "bounds the time of a search",
    "regalloc/occupancy.py:_LEAST_SHIFT": "how points are grouped, with the same answer",
    "regalloc/occupancy.py:_NEAR": "how occupied points are asked, with the same answer",
    "regalloc/files.py:HIGHEST_R": "registers of the hardware",
    "regalloc/files.py:_LAST_UR_ACROSS_CALLS": "registers of the hardware",
    "schedule/deps.py:_LONGEST_FIXED": "beyond every fixed latency of the tables",
    "schedule/hazard_check.py:_HORIZON": "beyond every fixed latency of the tables",
    "schedule/list.py:_FMA": "the number of a pipe",
    "schedule/word_counts.py:_WORD_SHIFT": "beyond every number of a register",
    "schedule/piece_orders.py:_TRIED": "bounds the time of a search",
    "schedule/piece_orders.py:_UNBOUNDED": "no limit",
    "passes/shared_factors.py:_PORTS": "reads of registers that a sub-core serves in a cycle",
    "passes/shared_factors.py:_SOURCES": "sources of a fused product",
    "schedule/reuse.py:REACH": "how long the reuse cache is known to hold a value",
    "schedule/board_numbers.py:_DEEPEST": "keeps the weight in proportion",
    "schedule/board_choice.py:SCOREBOARDS": "scoreboards of the hardware",
    "schedule/board_choice.py:ASYNC_SCOREBOARD": "the one that LDGDEPBAR is waited for on",
    "schedule/board_choice.py:_CROSS_BLOCK_DISTANT": "name of a scoreboard",
    "schedule/board_choice.py:_READ_DELAY": "tells short waits from long ones",
    "schedule/board_choice.py:_NEAR_DELAY": "tells short waits from long ones",
    "schedule/board_choice.py:_DISTANT_DELAY": "tells short waits from long ones",
    "schedule/board_choice.py:_FIRST_DISTANT": "name of a scoreboard",
    "schedule/stalls.py:_HORIZON": "beyond every fixed latency of the tables",
    "schedule/control_rows.py:WAITS_FOR_ACQUIRES": "marks a kind of wait",
    "schedule/stalls.py:_ARRIVAL": "marks a dependence",
    "schedule/control_rows.py:WAITS_FOR_LOADS": "marks a kind of wait",
    "schedule/scoreboard.py:_ORDER": "marks a dependence",
    "schedule/scoreboard.py:_TURN": "measured: when ptxas clears the yield bit at a stall of 2",
    "schedule/stalls.py:_SETTER_DISTANCE": "measured: a scoreboard that is set and waited for",
    "schedule/serial_scheme.py:_MMA_FILLERS": "measured: the code of ptxas -O0",
    "schedule/shared_gap.py:_CLEAN": "measured: the gap after an asynchronous copy",
    "schedule/texture_quads.py:_AFTER": "measured: the sequence of ptxas",
    "schedule/texture_quads.py:_LANES": "lanes of a quad",
    "schedule/texture_quads.py:_SETTLED": "measured: the sequence of ptxas",
    "pipeline/watch.py:_SHOWN": "faults that a message names",
}
"""Numbers that are no choice, and why."""


def test_the_table_and_the_fields() -> None:
    assert len({k.name.lower() for k in KNOBS}) == len(KNOBS)
    types = {k.field: {"bool": bool, "int": int, "str": str}[k.kind] for k in KNOBS}
    if Knobs.__annotations__:  # the compiled class has none
        assert Knobs.__annotations__ == types
        assert set(Knobs.__slots__) == set(types)
    fresh = Knobs()
    for k in KNOBS:
        assert getattr(fresh, k.field) == k.default
        assert k.about[-1] == "." and k.phase and re.fullmatch("[A-Za-z0-9]+", k.name)
        if k.kind == "int":
            assert isinstance(k.default, int) and k.low <= k.default <= k.high and k.low < k.high, k.name
        phases = {p.name for p in PHASES} | {"compile", "GeneralOptimize"}
        assert set(k.phase.split(", ")) <= phases, k.name


@functools.cache
def trees() -> dict[str, ast.Module]:
    files = [p for name in READERS for p in sorted((ROOT / name).rglob("*.py"))] + [
        ROOT / "compiler.py",
        ROOT / "kernel_compiler.py",
    ]
    return {p.relative_to(ROOT).as_posix(): ast.parse(p.read_text()) for p in files}


def test_every_knob_has_a_reader() -> None:
    """Outside of its own package, something reads the field, and nothing assigns it."""
    fields = {k.field for k in KNOBS}
    read, written = set(), set()
    for tree in trees().values():
        for n in ast.walk(tree):
            if isinstance(n, ast.Attribute) and n.attr in fields:
                (read if isinstance(n.ctx, ast.Load) else written).add(n.attr)
    others = {"disable_pragma_knobs"}  # read where settings are resolved
    assert fields - read == others
    assert not written


def constants(tree: ast.Module) -> list[str]:
    """Names of the module-level numbers."""
    out = []
    for node in tree.body:
        value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if value is None or not isinstance(target, ast.Name):
            continue
        try:
            number = eval(compile(ast.Expression(value), "", "eval"), {"__builtins__": {}})
        except Exception:
            continue
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            out.append(target.id)
    return out


def test_numbers_of_heuristics_are_knobs() -> None:
    """A new module-level number of a pass becomes a knob, or its reason to be none goes to FACTS."""
    found = {}
    for file, tree in trees().items():
        if file.startswith(HEURISTICS):
            for name in constants(tree):
                found[f"{file}:{name}"] = True
    bits = re.compile("_(MASK32|ALL|OR|XOR|AND|FULL_MASK|R_UNITS|UNDER_WAY|SEGMENT)$")
    assert {f for f in found if not bits.search(f.partition(":")[2])} == set(FACTS)
