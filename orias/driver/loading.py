"""Images of modules in memory: PTX (compiled here), cubins and fat binaries, as pointers without a size."""

import ctypes
import os
import re
from struct import unpack_from
from typing import Final

from orias.api import CompileError, compile_sources
from orias.cubin.cubin_error import CubinError
from orias.cubin.fatbin import KIND_CUBIN, KIND_PTX, MAGIC, entries
from orias.cubin.reader import Reader
from orias.deferred import DeferredModule
from orias.driver.driver_registry import get32, get64, put_string
from orias.driver.linked_texts import linked
from orias.driver.results import DriverError
from orias.options import Options
from orias.sim.checks.checker import has_warp_barriers

_WRAPPER = 0x466243B1
_TARGET = re.compile(rb"^\s*\.target\s+sm_(\d+)([af]?)", re.MULTILINE)
_MAX_REGISTERS, _INFO, _INFO_SIZE, _ERROR, _ERROR_SIZE, _LEVEL, _DEBUG, _LINES = 0, 3, 4, 5, 6, 7, 11, 13
"""CUjit_option."""
_WARP_BARRIERS: Final = not {"racecheck", "initcheck"}.isdisjoint(os.environ.get("ORIAS_TOOL", "").split(","))
"""A tool looks at what the compiler leaves out unless it is asked to keep it."""
EAGER: Final = os.environ.get("CUDA_MODULE_LOADING") == "EAGER"
"""Kernels are compiled when their module is loaded, not when they are used first."""
_FORCE_PTX: Final = os.environ.get("CUDA_FORCE_PTX_JIT", "0") != "0"
"""Of fat binaries, the PTX counts and no cubin does, as with NVIDIA's driver."""
_NO_PTX: Final = os.environ.get("CUDA_DISABLE_PTX_JIT", "0") != "0"
"""Nothing is compiled: of fat binaries, the cubins count and no PTX does."""
_COMPILED: dict[tuple[object, ...], bytes] = {}
_DEFERRED: dict[tuple[object, ...], DeferredModule] = {}
_ELF: Final = b"\x7fELF"


def bytes_at(address: int) -> bytes:
    """The image that begins at an address, whatever its kind."""
    if not address:
        raise DriverError("INVALID_VALUE", "a null pointer")
    magic = get32(address)
    if magic == _WRAPPER:
        return bytes_at(get64(address + 8))
    if magic == int.from_bytes(MAGIC, "little"):
        return ctypes.string_at(address, 16 + get64(address + 8))
    if magic == 0x464C457F:
        return ctypes.string_at(address, _elf_size(ctypes.string_at(address, 64), address))
    return ctypes.string_at(address)


def _elf_size(head: bytes, address: int) -> int:
    program, sections = unpack_from("<QQ", head, 32)
    program_size, programs, section_size, count = unpack_from("<HHHH", head, 54)
    end = max(program + program_size * programs, sections + section_size * count)
    for i in range(count):
        kind, _, _, offset, size = unpack_from(
            "<IQQQQ", ctypes.string_at(address + sections + i * section_size + 4, 36)
        )
        if kind != 8:
            end = max(end, offset + size)
    return int(end)


def cubins_for(device: int) -> range:
    """SMs whose cubins a device takes: its own and earlier ones with the same major number."""
    return range(device - device % 10, device + 1)


def cubin(data: bytes, sm: int, options: dict[int, int]) -> bytes:
    """The cubin for a device of SM `sm` in an image; PTX is compiled whole with the JIT's `options`."""
    code = _code(data, sm)
    return code if code[:4] == _ELF else compiled([code], sm, options)


def loaded(data: bytes, sm: int, options: dict[int, int]) -> tuple[bytes, DeferredModule | None]:
    """The cubin of an image, as :func:`cubin`, and what is left to compile later."""
    code = _code(data, sm)
    # A finished compile is kept for other processes only if it is whole.
    if code[:4] == _ELF or EAGER or "ORIAS_CACHE_DIR" in os.environ:
        return cubin(code, sm, options), None
    sources, o, key = _compile([code], sm, options)
    later = _DEFERRED.get(key)
    if later is None:
        try:
            later = _DEFERRED[key] = DeferredModule(sources, o)
        except CompileError as e:
            raise _refused(e, options) from None
    _log(options, _INFO, "")
    return later.data, later


def _code(data: bytes, sm: int) -> bytes:
    """The cubin or the PTX for a device in an image."""
    if data[:4] != MAGIC:
        if _NO_PTX and data[:4] != _ELF:
            raise DriverError("JIT_COMPILATION_DISABLED", "CUDA_DISABLE_PTX_JIT is set")
        return data
    try:
        found = entries(data)
        cubins = [] if _FORCE_PTX else [e for e in found if e.kind == KIND_CUBIN and e.sm in cubins_for(sm)]
        texts = [] if _NO_PTX else [e for e in found if e.kind == KIND_PTX and e.sm in range(sm + 1)]
        if cubins:
            best = max(cubins, key=lambda e: e.sm).data()
            if not (texts and _WARP_BARRIERS) or has_warp_barriers(Reader(best).module):
                return best
        if texts:
            return max(texts, key=lambda e: e.sm).data()
    except CubinError as e:
        raise DriverError("INVALID_IMAGE", str(e)) from None
    raise DriverError("NO_BINARY_FOR_GPU", f"for sm_{sm}")


def compiled(texts: list[bytes], sm: int, options: dict[int, int]) -> bytes:
    """The cubin of PTX texts; messages go to the buffers that the options name."""
    sources, o, key = _compile(texts, sm, options)
    known = _COMPILED.get(key)
    if known is not None:
        return known
    try:
        result = compile_sources(sources, o)
    except CompileError as e:
        raise _refused(e, options) from None
    _log(options, _INFO, "")
    _COMPILED[key] = result.data
    return result.data


def _refused(e: CompileError, options: dict[int, int]) -> DriverError:
    _log(options, _ERROR, str(e))
    return DriverError("INVALID_PTX", str(e))


def _compile(
    texts: list[bytes], sm: int, options: dict[int, int]
) -> tuple[list[tuple[str, str | bytes]], Options, tuple[object, ...]]:
    """Sources and options of a compile of PTX texts, and what tells it from others."""
    targets = [m for m in (_TARGET.search(t) for t in texts) if m]
    if len(targets) != len(texts):
        _log(options, _ERROR, "no .target directive")
        raise DriverError("INVALID_IMAGE" if len(texts) == 1 else "INVALID_PTX", "no .target directive")
    own = b"%d" % sm
    if any(int(m[1]) not in range(sm + 1) or (m[2] == b"a" and m[1] != own) for m in targets):
        _log(options, _ERROR, "the PTX is for a later target than the device")
        raise DriverError("NO_BINARY_FOR_GPU" if len(texts) == 1 else "INVALID_PTX", targets[0][0].decode())
    suffix = next((m[2].decode() for m in targets if m[2] and m[1] == own), "")
    o = Options(f"sm_{sm}{suffix}", min(options.get(_LEVEL, 3) & 0xFF, 3))
    o.maxrregcount = options.get(_MAX_REGISTERS, 0) & 0xFFFFFFFF
    # Reports of tools name the lines.
    o.lineinfo = bool(options.get(_LINES, 0) & 1) or bool(os.environ.get("ORIAS_TOOL"))
    o.debug = bool(options.get(_DEBUG, 0) & 1)
    o.keep_warp_barriers = _WARP_BARRIERS
    key = (*texts, o.arch, o.opt_level, o.maxrregcount, o.lineinfo, o.debug)
    # A linker compiles every input for the device, so they need not have the same target.
    target = max(targets, key=lambda m: (int(m[1]), m[2]))[0]
    plain = [t.rstrip(b"\0") for t in texts]
    if len(plain) > 1:
        plain = linked([_TARGET.sub(target, t, count=1) for t in plain])
    return [(f"<ptx {i}>", t) for i, t in enumerate(plain)], o, key


def _log(options: dict[int, int], buffer: int, text: str) -> None:
    size = options.get(_INFO_SIZE if buffer == _INFO else _ERROR_SIZE, 0) & 0xFFFFFFFF
    if options.get(buffer) and size:
        put_string(options[buffer], size, text.encode())


def log_error(options: dict[int, int], text: str) -> None:
    """Puts a message into the error log that the JIT's `options` name, if any."""
    _log(options, _ERROR, text)
