"""Errors of a simulated launch; every error names the kernel, the location and the thread."""


class SimError(Exception):
    """A launch failed.

    ``kernel``: its name; ``address``: byte offset of the instruction in its text section, or -1; ``text``: the
    instruction; ``block`` and ``thread``: coordinates of the first thread at fault, or None if no single thread is.
    """

    def __init__(
        self,
        message: str,
        kernel: str = "",
        address: int = -1,
        text: str = "",
        block: tuple[int, int, int] | None = None,
        thread: tuple[int, int, int] | None = None,
    ) -> None:
        self.message = message
        self.kernel = kernel
        self.address = address
        self.text = text
        self.block = block
        self.thread = thread
        where = f"{kernel}" if kernel else ""
        if address >= 0:
            where += f" at 0x{address:04x}"
        if text:
            where += f" ({text})"
        if thread is not None:
            where += f", block {block} thread {thread}"
        super().__init__(f"{where}: {message}" if where else message)


class LoadError(SimError):
    """The file is not a cubin this simulator can load."""


class ArgumentError(SimError):
    """Launch arguments do not fit the kernel."""


class OutOfBounds(SimError):
    """A memory access outside every allocation."""


class Misaligned(SimError):
    """A memory access whose address is not a multiple of its size."""


class IllegalInstruction(SimError):
    """An instruction that the target does not have, or that the simulator does not know."""


class Trap(SimError):
    """The kernel executed a trap."""


class AssertionFailed(SimError):
    """``assert`` failed in the kernel."""


class Deadlock(SimError):
    """No thread can run: all wait for barriers that will never complete."""


class PartOfWarp(SimError):
    """Some threads of a warp are at a barrier of the block without the others (a GPU counts the whole warp), or at an operation that does not name them."""


class HazardError(SimError):
    """An instruction conflicts with a pending value: the control words guarantee too little (time-aware runs)."""


class StepLimit(SimError):
    """The launch exceeded its limit of steps."""


class Fault(Exception):
    """Internal: an operation failed; the engine converts it into a :class:`SimError`.

    ``lane`` is a position among the active threads, ``thread`` a thread of the batch; -1 if unknown.
    """

    def __init__(self, error: type[SimError], message: str, lane: int = -1, thread: int = -1) -> None:
        self.error = error
        self.message = message
        self.lane = lane
        self.thread = thread
        super().__init__(message)
