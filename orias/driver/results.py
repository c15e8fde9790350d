"""Results of driver functions by name, and the exception that carries one."""

from typing import Final

from orias.driver.library import DATA
from orias.sim.core.sim_errors import (
    AssertionFailed,
    Deadlock,
    IllegalInstruction,
    Misaligned,
    OutOfBounds,
    SimError,
    StepLimit,
)


def _results() -> dict[int, str]:
    lines = (DATA / "results.txt").read_text(encoding="utf-8").splitlines()
    return {int(line.split()[0]): line.split()[1] for line in lines if line and line[0] != "#"}


NAMES: Final = _results()
"""Names by number."""
NUMBERS: Final = {name.removeprefix("CUDA_ERROR_"): number for number, name in NAMES.items()}
"""Numbers by name without its prefix."""
_LAUNCH: Final[dict[type[SimError], str]] = {
    OutOfBounds: "ILLEGAL_ADDRESS",
    Misaligned: "MISALIGNED_ADDRESS",
    IllegalInstruction: "ILLEGAL_INSTRUCTION",
    AssertionFailed: "ASSERT",
    Deadlock: "LAUNCH_TIMEOUT",
    StepLimit: "LAUNCH_TIMEOUT",
}


class DriverError(Exception):
    """A function ends with this result; ``reason`` is printed where ``ORIAS_DRIVER_TRACE`` asks for it."""

    def __init__(self, name: str, reason: str = "") -> None:
        self.number = NUMBERS[name]
        self.reason: Final = reason
        super().__init__(f"{name}: {reason}" if reason else name)


def of_launch(error: SimError) -> int:
    """The result that the driver gives for a kernel that failed like this."""
    return NUMBERS[_LAUNCH.get(type(error), "LAUNCH_FAILED")]


def text(number: int) -> str | None:
    """The words of a result; None if there is no such result."""
    name = NAMES.get(number)
    return None if name is None else name.removeprefix("CUDA_").removeprefix("ERROR_").replace("_", " ").lower()
