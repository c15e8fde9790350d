"""The functions of the system: vprintf, malloc, free, __assertfail, conditions of graphs, texture sampling with gradients, copies to
the cluster, launches of kernels, barriers of a grid.

Calls follow the ABI: arguments from R4 on with natural alignment, the result in R4 (R4:R5), the return address in
R20:R21.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.sim.core.device_launches import FUNCTIONS as DEVICE_FUNCTIONS
from orias.sim.core.device_launches import DeviceLaunches
from orias.sim.core.generic_bytes import bytes_at, put_at
from orias.sim.core.grid_barrier import FUNCTIONS as GRID_FUNCTIONS
from orias.sim.core.grid_barrier import grid_barrier
from orias.sim.core.sim_errors import AssertionFailed, Fault, IllegalInstruction
from orias.sim.core.state import Active, Machine
from orias.sim.math import ops_int as oi
from orias.sim.math.ops_int import U32, U64
from orias.sim.sass import copy_calls
from orias.sim.texture import gradient_calls
from orias.target.driver import COPIES, FUNCTIONS, GRADIENTS, SET_CONDITION

Arr = npt.NDArray[Any]
NUMBERED: Final = (*FUNCTIONS, SET_CONDITION)
"""What every launch has, in the order of addresses."""

RETURNED: Final = 4
"""The register of a result of one word."""


class Syscalls:
    """Executes the system calls of a launch; `output` collects the text of printf."""

    def __init__(self, base: int) -> None:
        self.base = base
        self.output: list[str] = []
        self.launches = DeviceLaunches()
        self.whole = False
        """Whether a machine has all blocks of its grid."""
        self._named: list[str] = []

    @property
    def printing(self) -> int:
        """The address of the function that prints."""
        return self.base + 16 * NUMBERED.index("vprintf")

    def address(self, name: str) -> int | None:
        """The address of a function, None if the simulator does not provide it."""
        if name in NUMBERED:
            return self.base + 16 * NUMBERED.index(name)
        if name.startswith((GRADIENTS, COPIES)) or name in DEVICE_FUNCTIONS or name in GRID_FUNCTIONS:
            if name not in self._named:
                self._named.append(name)
            return self.base + 16 * (len(NUMBERED) + self._named.index(name))
        return None

    def __call__(self, m: Machine, address: int, who: Active) -> Arr | None:
        """Executes a call by some threads; returns which of them make it again (those that wait), None for none."""
        number = (address - self.base) >> 4
        if not 0 <= number < len(NUMBERED) + len(self._named) or (address - self.base) & 15:
            raise Fault(IllegalInstruction, f"call of 0x{address:x}, which is no function", 0)
        if number >= len(NUMBERED):
            name = self._named[number - len(NUMBERED)]
            if name in GRID_FUNCTIONS:
                return grid_barrier(m, name, who, self.whole)
            if name in DEVICE_FUNCTIONS:
                self.launches(m, name, who)
            else:
                (copy_calls.copy if name.startswith(COPIES) else gradient_calls.sample)(m, name, who)
            return None
        name = NUMBERED[number]
        if name == "vprintf":
            self._vprintf(m, who)
        elif name == "malloc":
            self._malloc(m, who)
        elif name == "free":
            self._free(m, who)
        elif name == SET_CONDITION:
            self._set_condition(m, who)
        else:
            self._assertfail(m, who)
        return None

    @staticmethod
    def _pair(m: Machine, r: int, who: Active) -> list[int]:
        return [int(v) for v in np.broadcast_to(m.pair(r, who.sel), (who.n,))]

    @staticmethod
    def _return64(m: Machine, who: Active, values: list[int]) -> None:
        low, high = oi.words(np.array(values, U64))
        m.R[4][who.sel] = low
        m.R[5][who.sel] = high

    def _string(self, m: Machine, one: Active, address: int) -> bytes:
        out = bytearray()
        while True:
            b = bytes_at(m, one, address + len(out), 1)
            if b == b"\0" or len(out) > 65536:
                return bytes(out)
            out += b

    def _vprintf(self, m: Machine, who: Active) -> None:
        formats, buffers = self._pair(m, 4, who), self._pair(m, 6, who)
        counts = []
        cache: dict[int, bytes] = {}
        for i, (f, b) in enumerate(zip(formats, buffers, strict=True)):
            one = Active(who.index[i : i + 1])
            text = cache.get(f)
            if text is None:
                text = cache[f] = self._string(m, one, f)
            piece = self._format(m, one, text, b)
            self.output.append(piece)
            counts.append(len(piece))
        m.R[RETURNED][who.sel] = np.array(counts, U32)

    def _format(self, m: Machine, one: Active, text: bytes, buffer: int) -> str:
        out: list[str] = []
        at = buffer
        i = 0

        def take(size: int) -> bytes:
            nonlocal at
            at = -(-at // size) * size
            raw = bytes_at(m, one, at, size)
            at += size
            return raw

        while i < len(text):
            c = chr(text[i])
            i += 1
            if c != "%":
                out.append(c)
                continue
            start = i
            while i < len(text) and chr(text[i]) in "-+ #0":
                i += 1
            flags = text[start:i].decode()
            width, i = self._number(text, i, take)
            precision = ""
            if i < len(text) and text[i] == ord("."):
                value, i = self._number(text, i + 1, take)
                precision = "." + (value or "0")
            start = i
            while i < len(text) and chr(text[i]) in "hljztLq":
                i += 1
            length = text[start:i].decode()
            if i >= len(text):
                break
            conv = chr(text[i])
            i += 1
            spec = "%" + flags + width + precision
            if conv == "%":
                out.append("%")
            elif conv in "diuxXoc":
                wide = length in ("l", "ll", "j", "z", "t", "q") and conv != "c"
                raw = take(8 if wide else 4)
                n = int.from_bytes(raw, "little", signed=conv in "di")
                if length == "hh":
                    n = (n & 0xFF) - (256 if conv in "di" and n & 0x80 else 0)
                elif length == "h":
                    n = (n & 0xFFFF) - (65536 if conv in "di" and n & 0x8000 else 0)
                if conv == "c":
                    out.append(("%" + flags + width + "s") % chr(n & 0xFF))
                elif conv == "o" and "#" in flags:
                    digits = f"{n:o}"
                    out.append(("%" + flags.replace("#", "") + width + "s") % ("0" + digits if n else "0"))
                else:
                    out.append((spec + ("d" if conv == "u" else conv)) % n)
            elif conv in "fFeEgG":
                out.append((spec + conv) % np.frombuffer(take(8), np.float64)[0])
            elif conv in "aA":
                text_a = float(np.frombuffer(take(8), np.float64)[0]).hex()
                out.append(("%" + flags + width + "s") % (text_a.upper() if conv == "A" else text_a))
            elif conv == "s":
                p = int.from_bytes(take(8), "little")
                s = self._string(m, one, p).decode("utf-8", "replace") if p else "(null)"
                out.append((spec + "s") % s)
            elif conv == "p":
                n = int.from_bytes(take(8), "little")
                out.append(("%" + flags + width + "s") % (hex(n) if n else "(nil)"))
            else:
                out.append("%" + conv)
        return "".join(out)

    @staticmethod
    def _number(text: bytes, i: int, take: Any) -> tuple[str, int]:
        if i < len(text) and text[i] == ord("*"):
            return str(int.from_bytes(take(4), "little", signed=True)), i + 1
        start = i
        while i < len(text) and chr(text[i]).isdigit():
            i += 1
        return text[start:i].decode(), i

    def _malloc(self, m: Machine, who: Active) -> None:
        sizes = self._pair(m, 4, who)
        self._return64(m, who, [m.arena.heap.allocate(m.arena, s) for s in sizes])

    def _free(self, m: Machine, who: Active) -> None:
        for i, p in enumerate(self._pair(m, 4, who)):
            if p and not m.arena.heap.release(m.arena, p):
                raise Fault(IllegalInstruction, f"free of 0x{p:x}, which malloc did not return", i)

    def _set_condition(self, m: Machine, who: Active) -> None:
        """A handle is the address of the condition, four bytes of global memory."""
        values = np.broadcast_to(m.R[6][who.sel], (who.n,)).astype(U32)
        for i, handle in enumerate(self._pair(m, 4, who)):
            one = Active(who.index[i : i + 1])
            put_at(m, one, handle, int(values[i]).to_bytes(4, "little"))

    def _assertfail(self, m: Machine, who: Active) -> None:
        one = Active(who.index[:1])
        message = self._string(m, one, self._pair(m, 4, one)[0]).decode("utf-8", "replace")
        file = self._string(m, one, self._pair(m, 6, one)[0]).decode("utf-8", "replace")
        line = int(m.R[8][one.index[0]])
        function = self._string(m, one, self._pair(m, 10, one)[0]).decode("utf-8", "replace")
        raise Fault(
            AssertionFailed, f"{file}:{line}: {function}: assertion `{message}` failed", thread=int(one.index[0])
        )
