"""How many registers a thread may have at each occupancy.  SMs differ only in how many warps they hold at most.

Source: ``docs/facts/register-allocation.md``.
"""

from typing import Final

from orias.target.profile import Target

SUB_PARTITIONS: Final = 4
"""Sub-partitions of an SM, each with a scheduler; warps are distributed evenly over them."""
_SHARE: Final = 512
"""Registers per lane of a sub-partition, for all of its warps together."""
_STEP: Final = 8
"""A warp gets registers in multiples of this number per thread."""
MOST_REGISTERS: Final = 255
MOST_WARPS: Final = 16
"""Largest number of warps of a sub-partition, of any SM."""
_WARP: Final = 32
SYSTEM_REGISTERS: Final = 2
"""The register count of a kernel is the highest register used + 1 + this number."""
FEWEST_REGISTERS: Final = 24
"""Lowest limit that a directive or an option may set."""


def registers_for(warps: int) -> int:
    """Registers per thread when a sub-partition holds `warps` warps."""
    return min(MOST_REGISTERS, _SHARE // max(warps, 1) // _STEP * _STEP)


def warps_with(registers: int) -> int:
    """Warps whose registers an SM has, each thread with `registers`."""
    return _SHARE // (-(-max(registers, 1) // _STEP) * _STEP) * SUB_PARTITIONS


def allowed(count: int) -> int:
    """The register limit that a directive sets, clamped to FEWEST_REGISTERS..MOST_REGISTERS."""
    return max(FEWEST_REGISTERS, min(MOST_REGISTERS, count))


STEPS: Final[tuple[int, ...]] = tuple(sorted({registers_for(w) for w in range(1, MOST_WARPS + 1)}))
"""Register counts beyond which fewer warps fit, on an SM that holds MOST_WARPS."""


def lowest_step(target: Target) -> int:
    """The register count up to which an SM is full of warps: fewer registers gain no occupancy there."""
    return registers_for(target.number("threads_per_sm") // _WARP // SUB_PARTITIONS)


def steps(target: Target) -> tuple[int, ...]:
    """The register counts beyond which fewer warps fit on a target's SM."""
    lowest = lowest_step(target)
    return tuple(s for s in STEPS if s >= lowest)


def free_words(target: Target, limit: int = MOST_REGISTERS) -> int:
    """Live words, beside the stack pointer, up to which fewer registers gain nothing where a thread may have `limit` registers.

    R1 is the stack pointer: so many words need the registers up to the one of this number.
    """
    return live_words(min(lowest_step(target), limit))


def registers_that_hold(words: int) -> int:
    """The register count that so many live words, beside the stack pointer, need if alignment wastes none."""
    return words + SYSTEM_REGISTERS + 1


def live_words(limit: int) -> int:
    """Live words, beside the stack pointer, that a limit of registers holds if alignment wastes none."""
    return limit - SYSTEM_REGISTERS - 1


_UNUSABLE: Final = SYSTEM_REGISTERS + 3
"""Registers of a step that live words do not get: the system's, the stack pointer, and what alignment of vectors wastes."""


def most_words(registers: int) -> int:
    """Live words with which an order of instructions is expected to stay within a register count."""
    return registers - _UNUSABLE


def step_of(target: Target, registers: int) -> int:
    """The register count up to which as many warps fit as with this one."""
    return next((s for s in steps(target) if s >= registers), registers)


def step_that_holds(words: int) -> int:
    """The register count of a step that `words` live words fill, if alignment wastes less than is expected; 0 for none."""
    return next((s for s in STEPS if most_words(s) < words <= s - SYSTEM_REGISTERS - 1), 0)


def registers_of(words: int) -> int:
    """The register count of the step that an order with `words` live words is expected to stay within."""
    return next((s for s in STEPS if most_words(s) >= words), MOST_REGISTERS)


def step_words(words: int, free: int) -> int:
    """Live words that the occupancy of code with `words` live words allows, at least `free`."""
    return next((most_words(s) for s in STEPS if most_words(s) >= max(words, free)), max(words, free))
