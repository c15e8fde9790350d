"""Modules, libraries, kernels, their attributes, and the linker."""

import ctypes

from orias.driver.driver_registry import call, get_string, options, put32, put64, u
from orias.driver.driver_state import Driver
from orias.driver.library import DATA
from orias.driver.loading import EAGER, bytes_at, compiled, cubin, cubins_for, loaded, log_error
from orias.driver.modules import Function, Module, load_failure
from orias.driver.results import DriverError
from orias.sim.core.image import Image
from orias.sim.core.sim_errors import LoadError

_NUM_ATTRIBUTES = 16
_DYNAMIC_SHARED, _CLUSTER_SET, _CLUSTER = 8, 10, 11
_DEVICE_RUNTIME = b"cuda_device_runtime.o"
_ARCHIVE_HEAD = 1 << 16
_EAGER_LOADING, _LAZY_LOADING = 1, 2
_REGISTERS = 65536
_REGISTER_STEP = 256


def _load(d: Driver, data: bytes, jit: dict[int, int], context: bool) -> int:
    code, later = loaded(data, d.device.sm, jit)
    try:
        image = Image(code, d.arena)
        if image.reader.relocatable:
            raise LoadError("the cubin is relocatable: link it first")
    except LoadError as e:
        raise load_failure(e) from None
    made_for = image.target.sm
    if made_for not in cubins_for(d.device.sm):
        raise DriverError("NO_BINARY_FOR_GPU", f"the cubin is for sm_{made_for}")
    return d.new(Module(image, d.context if context else None, later))


@call("cuModuleLoadData", "cuModuleLoadFatBinary")
def load_data(d: Driver, place: int, image: int) -> None:
    """Load an image."""
    put64(place, _load(d, bytes_at(image), {}, True))


@call("cuModuleLoadDataEx")
def load_data_ex(d: Driver, place: int, image: int, count: int, kinds: int, values: int) -> None:
    """Load an image with options of the JIT."""
    put64(place, _load(d, bytes_at(image), options(count, kinds, values), True))


def _file(name: int) -> bytes:
    path = get_string(name)
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        raise DriverError("FILE_NOT_FOUND", path) from None


@call("cuModuleLoad")
def load_file(d: Driver, place: int, name: int) -> None:
    """Load an image from a file."""
    put64(place, _load(d, _file(name), {}, True))


@call("cuModuleUnload")
def unload(d: Driver, module: int) -> None:
    """End a module."""
    for handle in d.drop(module, Module).functions.values():
        d.handles.pop(handle, None)


@call("cuModuleGetLoadingMode", needs="nothing")
def loading_mode(d: Driver, place: int) -> None:
    """Kernels are loaded with their module, or when they are used first."""
    put32(place, _EAGER_LOADING if EAGER else _LAZY_LOADING)


def function(d: Driver, module: int, name: str) -> int:
    """The handle of a kernel, the same at every call."""
    m = d.get(module, Module)
    known = m.functions.get(name)
    if known is None:
        if name not in m.names():
            raise DriverError("NOT_FOUND", name)
        known = m.functions[name] = d.new(Function(m, module, name))
    return int(known)


@call("cuModuleGetFunction")
def get_function(d: Driver, place: int, module: int, name: int) -> None:
    """A kernel by name, which is loaded now."""
    handle = function(d, module, get_string(name))
    load_function(d, handle)
    put64(place, handle)


@call("cuLibraryGetKernel", needs="init")
def get_kernel(d: Driver, place: int, library: int, name: int) -> None:
    """A kernel by name."""
    put64(place, function(d, library, get_string(name)))


@call("cuModuleGetFunctionCount", "cuLibraryGetKernelCount", needs="init")
def function_count(d: Driver, place: int, module: int) -> None:
    """How many kernels there are."""
    put32(place, len(d.get(module, Module).names()))


@call("cuModuleEnumerateFunctions", "cuLibraryEnumerateKernels", needs="init")
def enumerate_functions(d: Driver, place: int, count: int, module: int) -> None:
    """All kernels."""
    for i, name in enumerate(d.get(module, Module).names()[:count]):
        put64(place + 8 * i, function(d, module, name))


@call("cuModuleGetGlobal_v2", "cuLibraryGetGlobal", "cuLibraryGetManaged")
def get_global(d: Driver, place: int, size: int, module: int, name: int) -> None:
    """Address and size of a variable."""
    found = d.get(module, Module).image.variables.get(get_string(name))
    if found is None:
        raise DriverError("NOT_FOUND", get_string(name))
    if place:
        put64(place, found[0])
    if size:
        put64(size, found[1])


# -- libraries


@call("cuLibraryLoadData", needs="init")
def library_load(
    d: Driver, place: int, code: int, kinds: int, values: int, count: int, own: int, own_values: int, own_count: int
) -> None:
    """Load an image that belongs to all contexts."""
    put64(place, _load(d, bytes_at(code), options(count, kinds, values), False))


@call("cuLibraryLoadFromFile", needs="init")
def library_load_file(
    d: Driver, place: int, name: int, kinds: int, values: int, count: int, own: int, own_values: int, own_count: int
) -> None:
    """The same from a file."""
    put64(place, _load(d, _file(name), options(count, kinds, values), False))


@call("cuLibraryUnload", needs="init")
def library_unload(d: Driver, library: int) -> None:
    """End a library."""
    unload(d, library)


@call("cuLibraryGetModule")
def library_module(d: Driver, place: int, library: int) -> None:
    """The module of a library: itself."""
    d.get(library, Module)
    put64(place, library)


@call("cuKernelGetFunction")
def kernel_function(d: Driver, place: int, kernel: int) -> None:
    """The function of a kernel: itself."""
    d.get(kernel, Function)
    put64(place, kernel)


@call("cuKernelGetLibrary", "cuFuncGetModule", needs="init")
def kernel_library(d: Driver, place: int, kernel: int) -> None:
    """The module of a kernel."""
    put64(place, d.get(kernel, Function).module_handle)


@call("cuKernelGetName", "cuFuncGetName", needs="init")
def kernel_name(d: Driver, place: int, kernel: int) -> None:
    """The name of a kernel."""
    name = d.get(kernel, Function).name
    buffer = d.keep.setdefault(f"kernel {name}", ctypes.create_string_buffer(name.encode()))
    put64(place, ctypes.addressof(buffer))


@call("cuKernelGetParamInfo", "cuFuncGetParamInfo", needs="init")
def param_info(d: Driver, kernel: int, index: int, offset: int, size: int) -> None:
    """Offset and size of a parameter."""
    params = sorted(d.get(kernel, Function).kernel.params, key=lambda p: int(p.ordinal))
    if not 0 <= index < len(params):
        raise DriverError("INVALID_VALUE", f"parameter {index} of {len(params)}")
    put64(offset, params[index].offset)
    if size:
        put64(size, params[index].size)


@call("cuFuncIsLoaded")
def is_loaded(d: Driver, place: int, kernel: int) -> None:
    """Whether a kernel is loaded."""
    f = d.get(kernel, Function)
    put32(place, f.module.is_loaded(f.name))


@call("cuFuncLoad")
def load_function(d: Driver, kernel: int) -> None:
    """Load a kernel."""
    f = d.get(kernel, Function)
    f.module.image_of(f.name)


@call("cuFuncSetCacheConfig", "cuFuncSetSharedMemConfig", "cuKernelSetCacheConfig")
def preference(d: Driver, kernel: int, *values: int) -> None:
    """Preferences have no effect."""
    d.get(kernel, Function)


# -- attributes


def static_shared(f: Function) -> int:
    """Bytes of static shared memory, without what the system reserves."""
    total = f.image.reader.shared_size(f.name)
    return max(0, total - f.image.target.number("system_shared"))


def max_threads(f: Function) -> int:
    """Threads that a block may have: by directive, and by registers."""
    k = f.kernel
    most = 1024
    if any(k.maxntid):
        most = min(most, k.maxntid[0] * k.maxntid[1] * k.maxntid[2])
    if any(k.reqntid):
        most = min(most, k.reqntid[0] * k.reqntid[1] * k.reqntid[2])
    warp = -(-max(k.num_regs, 1) * 32 // _REGISTER_STEP) * _REGISTER_STEP
    return min(most, _REGISTERS // warp // 4 * 4 * 32)


def attribute(f: Function, number: int) -> int:
    """An attribute of a kernel."""
    k, image = f.kernel, f.image
    if number in f.attributes:
        return f.attributes[number]
    cluster = [*k.cluster_dim, 0, 0, 0]
    local = k.min_stack_size if k.min_stack_size < 1 << 24 else k.frame_size
    made_for = int(image.target.sm)
    return {
        0: max_threads(f),
        1: static_shared(f),
        2: len(image.reader.bank(3) or b""),
        3: local,
        4: k.num_regs,
        5: made_for,
        6: made_for,
        8: max(0, 49152 - static_shared(f)),
        9: -1 & 0xFFFFFFFF,
        11: cluster[0],
        12: cluster[1],
        13: cluster[2],
    }.get(number, 0)


@call("cuFuncGetAttribute")
def get_attribute(d: Driver, place: int, number: int, kernel: int) -> None:
    """An attribute of a kernel."""
    if not 0 <= number < _NUM_ATTRIBUTES:
        raise DriverError("INVALID_VALUE", f"attribute {number}")
    put32(place, attribute(d.get(kernel, Function), number))


@call("cuKernelGetAttribute", needs="init")
def get_kernel_attribute(d: Driver, place: int, number: int, kernel: int, device: int) -> None:
    """The same for a device."""
    get_attribute(d, place, number, kernel)


@call("cuFuncSetAttribute")
def set_attribute(d: Driver, kernel: int, number: int, value: int) -> None:
    """Change an attribute that may be changed."""
    f = d.get(kernel, Function)
    if number not in range(_DYNAMIC_SHARED, _NUM_ATTRIBUTES):
        raise DriverError("INVALID_VALUE", f"attribute {number}")
    if number == _DYNAMIC_SHARED and not 0 <= value <= d.device.attributes[97] - static_shared(f):
        raise DriverError("INVALID_VALUE", f"{value} bytes of shared memory")
    f.attributes[number] = value


@call("cuKernelSetAttribute", needs="init")
def set_kernel_attribute(d: Driver, number: int, value: int, kernel: int, device: int) -> None:
    """The same for a device."""
    set_attribute(d, kernel, number, value)


# -- the linker


class Link:
    """PTX texts, or one finished cubin."""

    def __init__(self, jit: dict[int, int]) -> None:
        self.jit = jit
        self.texts: list[bytes] = []
        self.cubins: list[bytes] = []
        self.names: list[str] = []
        """Of the inputs, for messages."""
        self.runtime = False
        """The device runtime was added."""


@call("cuLinkCreate_v2", "cuLinkCreate")
def link_create(d: Driver, count: int, kinds: int, values: int, place: int) -> None:
    """Begin."""
    put64(place, d.new(Link(options(count, kinds, values))))


def _needs_linker(link: Link, what: str) -> DriverError:
    """The error for inputs that only a linker can take, which is in the log that the client asked for, too."""
    text = f"Orias has no linker, and cuLink takes PTX or one cubin: {what}. Link them before (nvJitLink, nvlink)."
    log_error(link.jit, text)
    return DriverError("NOT_SUPPORTED", text)


def _add(d: Driver, link: int, data: bytes, name: int) -> None:
    found = d.get(link, Link)
    found.names.append((get_string(name) if name else "") or f"input {len(found.names) + 1}")
    if data[:4] == b"\x7fELF" or data[:4] == b"\x50\xed\x55\xba":
        found.cubins.append(cubin(data, d.device.sm, found.jit))
    elif data[:8] == b"!<arch>\n":
        # NVIDIA's device runtime has code for its own driver; ours has what cooperative groups and launches need.
        if _DEVICE_RUNTIME not in data[:_ARCHIVE_HEAD]:
            raise _needs_linker(found, f"{found.names[-1]} is an archive, of which only the device runtime is known")
        found.runtime = True
    else:
        found.texts.append(data)


@call("cuLinkAddData_v2", "cuLinkAddData")
def link_add(
    d: Driver, link: int, kind: int, data: int, size: int, name: int, count: int, kinds: int, values: int
) -> None:
    """Add an input."""
    raw = ctypes.string_at(u(data), u(size))
    _add(d, link, raw.rstrip(b"\0") if kind == 1 else raw, name)


@call("cuLinkAddFile_v2", "cuLinkAddFile")
def link_add_file(d: Driver, link: int, kind: int, name: int, count: int, kinds: int, values: int) -> None:
    """Add a file."""
    _add(d, link, _file(name), name)


@call("cuLinkComplete")
def link_complete(d: Driver, link: int, place: int, size: int) -> None:
    """The cubin of all inputs: PTX texts together, or one finished cubin."""
    found = d.get(link, Link)
    if found.texts and not found.cubins:
        needed = found.runtime and any(b"cudaCG" in t or b"__cudaCDP2" in t for t in found.texts)
        own = [(DATA / "device_runtime.ptx").read_bytes()] if needed else []
        data = compiled([*found.texts, *own], d.device.sm, found.jit)
    elif len(found.cubins) == 1 and not found.texts:
        data = found.cubins[0]
    else:
        raise _needs_linker(
            found, f"{len(found.names)} inputs ({', '.join(found.names)}) of which one or more are objects"
        )
    buffer = d.keep[f"link {link}"] = ctypes.create_string_buffer(data, len(data))
    put64(place, ctypes.addressof(buffer))
    if size:
        put64(size, len(data))


@call("cuLinkDestroy")
def link_destroy(d: Driver, link: int) -> None:
    """End."""
    d.drop(link, Link)
    d.keep.pop(f"link {link}", None)
