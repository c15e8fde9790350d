"""A PTX module in the memory of a device: the addresses and first contents of its variables."""

from collections.abc import Callable
from typing import Any, Final

import numpy.typing as npt

from orias.ptx.ast import TYPE_BITS, Function, Module, SymInit, Var
from orias.sim.core.banked_memory import Arena
from orias.sim.core.global_variables import Globals, allocate_variables, constant_bytes
from orias.sim.core.launch import LOCAL_WINDOW, SHARED_WINDOW, Shape
from orias.sim.core.loaded_cubin import LoadedCubin
from orias.sim.core.state import Machine
from orias.sim.core.syscalls import Syscalls
from orias.sim.ptx.choice import CANONICAL, Choice
from orias.sim.ptx.ptx_layout import align_of, place
from orias.sim.sass.exec_flow import CODE_BASE, SYSCALL_BASE
from orias.target.descriptors import HANDLE_KINDS
from orias.target.profile import TARGETS, Target

Arr = npt.NDArray[Any]

_OTHER_CODE: Final = 0x10001000000


class LoadedModule:
    """A typed module whose variables have places in the memory of a device.

    `like`: a cubin of the same module.  The module takes the addresses of its variables, but not their data, so that
    memories can be compared.
    """

    def __init__(self, module: Module, arch: str, choice: Choice = CANONICAL, like: LoadedCubin | None = None) -> None:
        self.module = module
        self.target: Target = TARGETS[arch]
        self.choice = choice
        self.arena = Arena(1 << 20)
        self.variables: dict[str, tuple[int, int]] = {}
        self.code_pointers: set[str] = set()
        """Variables that hold addresses of functions, which differ between images."""
        self.globals = Globals(self)
        self.syscalls = Syscalls(SYSCALL_BASE)
        self.watch: Callable[[Machine, int], None] | None = None
        self.kernels: dict[str, Function] = {f.name: f for f in module.functions if f.entry and f.body is not None}
        self.shape = Shape((1, 1, 1), (1, 1, 1), (1, 1, 1), 0)
        self.shared_bytes = 0
        self.shared_window = SHARED_WINDOW
        self.local_window = LOCAL_WINDOW
        self.code_base = CODE_BASE + (_OTHER_CODE if choice.other else 0)
        """Base of the addresses of functions, which PTX does not define."""
        self.const_base = 0
        self.const_size = 0
        self.param_base = 0
        self._address: dict[int, int] = {}
        self._shared: dict[str, tuple[dict[int, int], int]] = {}
        self._kernel = ""
        self._like: LoadedCubin | None = like
        self._place(like)

    # -- data

    def _all_variables(self) -> list[Var]:
        out = list(self.module.variables)
        for f in self.module.functions:
            out.extend(v for v in f.variables if v.space in ("global", "const", "shared"))
        return out

    def _place(self, like: LoadedCubin | None) -> None:
        if like is not None:
            self.arena.allocate_like(like.arena)
        constants = [v for v in self._all_variables() if v.space == "const" and v.type in TYPE_BITS]
        known = like.variables if like is not None else {}
        offsets, self.const_size = place(constants)
        if any(v.name in known for v in constants) and like is not None:
            self.const_base = like.section(".nv.constant3")
            end = 0
            for k, v in enumerate(constants):
                offsets[k] = known[v.name][0] - self.const_base if v.name in known else -1
                end = max(end, offsets[k] + v.size)
            self.const_size = end
        else:
            self.const_base = self.arena.allocate(constant_bytes(self.const_size), ".const")
        for v, o in zip(constants, offsets, strict=True):
            if o >= 0:
                self._address[id(v)] = o
                self.variables[v.name] = (self.const_base + o, v.size)
        for v in self._all_variables():
            if v.space != "global" or v.type not in TYPE_BITS:
                continue
            found = known.get(v.name)
            if found is not None:
                address = found[0]
            else:
                address = allocate_variables(self.arena, max(v.size, 1), v.name, max(align_of(v), 16))
            self._address[id(v)] = address
            self.variables[v.name] = (address, v.size)
        for v in self._all_variables():
            if v.init is not None and id(v) in self._address:
                self.arena.write(self.variables[v.name][0], self._initial(v))
                if any(isinstance(x, SymInit) and isinstance(x.target, Function) for _, x in v.init):
                    self.code_pointers.add(v.name)

    def _initial(self, v: Var) -> bytes:
        data = bytearray(v.size)
        width = max(1, TYPE_BITS[v.type] // 8)
        for offset, value in v.init or []:
            number = value if isinstance(value, int) else self._symbol(value)
            data[offset : offset + width] = (number & (1 << 8 * width) - 1).to_bytes(width, "little")
        return bytes(data)

    def _symbol(self, value: SymInit) -> int:
        if isinstance(value.target, Function):
            functions = [f for f in self.module.functions if f.body is not None and not f.entry]
            names = [f.name for f in functions]
            return self.code_base + 16 * (names.index(value.target.name) + 1) + value.addend
        address = self._address.get(id(value.target), 0) + value.addend
        if value.target.space == "const" and value.generic:
            address += self.const_base
        if value.mask:
            shift = (value.mask & -value.mask).bit_length() - 1
            address = (address & value.mask) >> shift
        return address

    def address(self, v: Var) -> int:
        """The address of a module variable in its space, for the kernel that is compiled or run now."""
        if v.type in HANDLE_KINDS:
            # The value of a reference is its handle.
            return HANDLE_KINDS[v.type] << 32 | self.arena.bindings.get(v.name, 0)
        if v.space == "shared":
            return self._shared_layout(self._kernel)[0][id(v)]
        return self._address[id(v)]

    def _shared_layout(self, kernel: str) -> tuple[dict[int, int], int]:
        """Offsets of shared variables by id, and their static bytes; variables without a size begin after the others."""
        known = self._shared.get(kernel)
        if known is None:
            # A kernel does not see the variables of other kernels.
            other = [f for f in self.module.functions if f.entry and f.name != kernel]
            hidden = {id(v) for f in other for v in f.variables}
            variables = [v for v in self._all_variables() if v.space == "shared" and id(v) not in hidden]
            sized = [v for v in variables if v.size]
            offsets, top = place(sized, self.target.number("system_shared"))
            told = self._like.shared_variables(kernel) if self._like is not None else {}
            if sized and all(v.name in told for v in sized):
                # The cubin may have another order.
                offsets = [told[v.name] for v in sized]
                top = max(told[v.name] + v.size for v in sized)
            where = {id(v): o for v, o in zip(sized, offsets, strict=True)}
            dynamic = [v for v in variables if not v.size]
            a = max([align_of(v) for v in dynamic], default=1)
            # A cubin's place may be after the variables of other kernels; it is 0 if nothing uses the memory.
            start = max([-(-top // a) * a, *[told.get(v.name, 0) for v in dynamic]])
            where.update({id(v): start for v in dynamic})
            known = (where, start if dynamic else top)
            self._shared[kernel] = known
        return known

    def static_shared(self, kernel: str) -> int:
        """Bytes of shared memory that the module's variables need."""
        return self._shared_layout(kernel)[1]
