"""Turns listings into cubins: replaces code in an existing cubin, or makes a new cubin from a listing."""

import re
from typing import Final

from orias.cubin import elf
from orias.cubin.cubin_error import CubinError
from orias.cubin.model import CubinModule, KernelCode, Param
from orias.cubin.reader import Reader
from orias.cubin.writer import write
from orias.isa.isa_table import load
from orias.target.profile import TARGETS
from orias.tools.assemble import assemble
from orias.tools.disassemble import decode_text_section

_TEXT: Final = ".text."
_TARGET: Final = re.compile(r"^\s*\.target\s+(\S+)", re.M)
_REGISTERS: Final = re.compile(r"^\s*\.section\s+\.text\.([^,\s]+),.*?SHI_REGISTERS=(\d+)", re.M | re.S)


def _exits(code: bytes, target: str) -> list[int]:
    """Offsets of the EXIT instructions."""
    return [d.addr for d in decode_text_section(code, TARGETS[target].table) if d.op.base == "EXIT"]


def _set_code(k: KernelCode, code: bytes, target: str) -> None:
    k.code = code
    k.padded = len(code) % 128 == 0
    k.exit_offsets = _exits(code, target)


def patched_cubin(text: str, base: bytes) -> bytes:
    """The cubin ``base`` with its code replaced by the sections of a listing.

    Raises CubinError if the listing has a section that the cubin lacks, or changes the length of a section with copied
    functions or relocations; AsmError for a text that is no instruction.
    """
    reader = Reader(base)
    if any(s.type in (elf.SHT_CUDA_UFT, elf.SHT_CUDA_UDT) for s in reader.elf.sections):
        raise CubinError("a cubin with unified functions or variables cannot be patched")
    module = reader.module
    known = {k.name: k for k in module.kernels}
    for name, code in assemble(text, load(TARGETS[module.target].table)).items():
        k = known.get(name.removeprefix(_TEXT))
        if k is None or not name.startswith(_TEXT):
            raise CubinError(f"the cubin has no code section {name}")
        if len(code) != len(k.code) and (k.subs or k.relocs or k.branch_targets):
            raise CubinError(f"{name} must keep its length of {len(k.code)} bytes")
        _set_code(k, code, module.target)
    return write(module)


def new_cubin(text: str, target: str = "", registers: int = 0, params: list[int] | None = None) -> bytes:
    """A cubin with the kernels of a listing.

    ``target`` and ``registers`` default to what the listing states; ``params``: sizes in bytes of the parameters that
    every kernel gets.  Raises CubinError if a fact is missing, AsmError for a text that is no instruction.
    """
    found = _TARGET.search(text)
    target = target or (found.group(1) if found else "")
    if target not in TARGETS:
        raise CubinError(f"the target {target!r} is not known: give one")
    stated = {}
    for part in re.split(r"(?m)^(?=\s*\.section\s)", text):
        m = _REGISTERS.match(part)
        if m is not None:
            stated[m.group(1)] = int(m.group(2))
    module = CubinModule(target)
    module.ptx_sm = TARGETS[target].sm
    module.options = f"-arch {target} "
    for name, code in assemble(text, load(TARGETS[target].table)).items():
        kernel = name.removeprefix(_TEXT) if name.startswith(_TEXT) else "kernel"
        k = KernelCode(kernel, code)
        _set_code(k, code, target)
        k.num_regs = registers or stated.get(kernel, 0)
        if not k.num_regs:
            raise CubinError(f"the listing does not say how many registers {kernel} has: give a number")
        for i, size in enumerate(params or []):
            if size not in (1, 2, 4, 8) and size % 4:
                raise CubinError(f"a parameter cannot have {size} bytes")
            align = min(size, 8) if size in (1, 2, 4, 8) else 4
            offset = -(-k.param_bytes // align) * align
            k.params.append(Param(i, offset, size))
            k.param_bytes = offset + size
        module.kernels.append(k)
    return write(module)
