"""Addresses of variables, parameters, functions and references, as values in the code of a function.

Where they come from depends on what is compiled: numbers in a whole program, relocations for a linker, words of constant
bank 0 and 4 that the loader fills.
"""

from orias.cubin.model import CallEdge, Reloc
from orias.cubin.relocs import R_SAMP_HEADER_INDEX, R_SAMP_HEADER_INDEX_0, R_SURF_HEADER_INDEX, R_TEX_HEADER_INDEX
from orias.diag import Unsupported
from orias.isa.operand import NONE, NOT_PT, RZ, Opnd, const, imm, imm64, vreg, word
from orias.lower.frame import data_layout
from orias.lower.frame.emitter import Emitter
from orias.lower.frame.params import extract_selector
from orias.ptx.ast import Function, Operand, Var
from orias.ptx.declaration_words import element_bytes
from orias.target import descriptors, features


def open_shared_window(ctx: Emitter, f: Function) -> None:
    """Emit the head of a function's entry block: the shared window of the CTA, where the target needs it."""
    if not ctx.target.has(features.CLUSTERS):
        return
    if ctx.options.relocatable:
        if ctx.module.functions.facts(f).shared:
            ctx.state.shared_base = ctx.b.r("S2R", word("SR_CgaCtaId"))
    elif ctx.module.data.shared:
        cta = ctx.b.r("S2R", word("SR_CgaCtaId"))
        ctx.state.shared_base = ctx.b.r("LEA", cta, imm(ctx.target.number("system_shared")), imm(24))


def variable_address(ctx: Emitter, var: Var, addend: int, words: int) -> Opnd:
    """The address of a variable in its own space, as a value of `words` words."""
    space = var.space
    if var.type in data_layout.REFERENCES:
        ctx.module.data.used.add(var)
        return _sampler_value(ctx, var) if var.type == "samplerref" else _reference_value(ctx, var)
    if space == "global":
        ctx.module.data.used.add(var)
        if ctx.options.names_globals:
            unified = data_layout.unified_id(var.attributes) is not None
            return _symbol(ctx, ctx.module.data.symbol(var), addend, "unified_" if unified else "")
        base = ctx.b.copy(const(4, ctx.module.data.slot(ctx.module.data.symbol(var))), 2)
        return ctx.b.r("iadd64", base, imm64(addend), width=2) if addend else base
    if space == "const":
        if ctx.options.names_places:
            low = const_symbol(ctx, var, addend)
            return ctx.b.pack(low, imm(0)) if words == 2 else low
        return _number(const_offset(ctx, var) + addend, words)
    if space == "shared":
        sbase, offset = shared_address(ctx, var, addend)
        if sbase == RZ:
            return _number(offset, words)
        low = ctx.b.r("IADD3", sbase, imm(offset), RZ) if offset else sbase
        return ctx.b.pack(low, imm(0)) if words == 2 else low
    if space == "param" and ctx.state.kind == "entry" and var not in ctx.state.frame_offset:
        return _number(param_offset(ctx, var) + addend, words)
    if var in ctx.state.frame_offset:
        if not 0 <= addend < var.size:
            ctx.state.leaves_variables = True
        low = ctx.frame(ctx.state.frame_offset[var] + addend)
        return ctx.b.pack(low, imm(0)) if words == 2 else low
    if var in ctx.state.incoming:
        low = ctx.incoming(ctx.state.incoming[var] + addend)
        return ctx.b.pack(low, imm(0)) if words == 2 else low
    raise ctx.unsupported(f"The address of '{var.name}'")


def element_offset(ctx: Emitter, o: Operand, index: Opnd, bits: int) -> Opnd:
    """The bytes before the element that an operand names by a register, as a word; `index`: the value of the register of `bits` bits."""
    assert o.var is not None
    if bits < 32:
        index = zero_extended(ctx, index, bits)
    size = element_bytes(o.var.type)
    return ctx.b.r("IMAD", index, imm(size), imm(o.value * size & 0xFFFFFFFF))


def at_offset(ctx: Emitter, base: Opnd, offset: Opnd, words: int) -> Opnd:
    """The address a word of bytes after another, as a value of `words` words."""
    if words == 1:
        return ctx.b.r("IADD3", base, offset, RZ)
    return ctx.b.r("iadd64", base, ctx.b.pack(offset, RZ), width=2)


def zero_extended(ctx: Emitter, value: Opnd, bits: int) -> Opnd:
    """The low 8 or 16 bits of a word."""
    return ctx.b.r("PRMT", value, imm(extract_selector(0, bits, False)), RZ)


def shared_address(ctx: Emitter, var: Var, addend: int) -> tuple[Opnd, int]:
    """A shared variable's address as (base register or RZ, byte offset)."""
    base = ctx.state.shared_base
    if ctx.options.names_places:
        ctx.module.data.used.add(var)
        place = ctx.b.copy(ctx.fn.sym(ctx.module.data.symbol(var), "abs32"))
        if base == NONE:
            return place, addend
        return ctx.b.r(
            "LEA", base, ctx.b.r("IADD3", place, imm(ctx.target.number("system_shared")), RZ), imm(24)
        ), addend
    offset = ctx.module.data.shared[var] + addend
    return (RZ if base == NONE else base), offset


def const_symbol(ctx: Emitter, var: Var, addend: int) -> Opnd:
    """Where relocations say it: the offset of a constant variable in bank 3, from a relocation."""
    ctx.module.data.used.add(var)
    return ctx.b.copy(ctx.fn.sym(ctx.module.data.symbol(var), "abs16", addend))


def const_offset(ctx: Emitter, var: Var) -> int:
    """Byte offset of a constant variable in bank 3."""
    ctx.module.data.used.add(var)
    return ctx.module.data.const_offsets[var]


def param_offset(ctx: Emitter, var: Var) -> int:
    """Byte offset of a kernel parameter in the parameter space."""
    for v, p in zip(ctx.module.kernel.ptx.params, ctx.module.kernel.params, strict=True):
        if v is var:
            return p.offset
    raise Unsupported(f"'{var.name}' is not a parameter of this kernel", var.line)


def param_bank(ctx: Emitter) -> int:
    """Offset of the kernel's parameter space in constant bank 0."""
    return ctx.target.parameters_at(ctx.module.kernel.param_bytes)


def function_address(ctx: Emitter, f: Function) -> Opnd:
    """The address of a function, represented as in ptxas 13.0.88.

    Where functions are copied after the kernel, it is the copy's offset in the section.  In modules with several
    kernels it is an offset in a table at the start of constant bank 2; each kernel has such a table with the
    offsets of its own copies.
    """
    target = ctx.module.functions.definition(f)
    if ctx.options.own_sections:
        if target.body is None:
            ctx.module.need_extern(target, ctx.line)
        ctx.module.program.take_address(target)
        ctx.module.program.address_uses.append(CallEdge(ctx.fn.name, target.name))
        unified = ctx.options.relocatable and ctx.target.has(features.UNIFIED_FUNCTIONS)
        return _symbol(ctx, target.name, 0, "descriptor_" if target.entry else "unified_" if unified else "")
    if target.entry:
        ctx.module.program.take_address(target)
        ctx.module.program.address_uses.append(CallEdge(ctx.fn.name, target.name))
        if ctx.options.extensible:
            return _symbol(ctx, target.name, 0, "descriptor_")
        return ctx.b.copy(const(4, ctx.module.data.slot(target.name, descriptor=True)), 2)
    if target.body is None:
        if ctx.options.extensible:
            raise Unsupported(f"The address of '{target.name}' with --extensible-whole-program", ctx.line)
        return ctx.b.copy(const(4, ctx.module.need_extern(target, ctx.line)), 2)
    name = ctx.module.copy_name(target)
    if target.name in ctx.module.functions.numbers:
        return ctx.b.copy(imm64(ctx.module.functions.numbers[target.name]), 2)
    lo = ctx.b.copy(ctx.fn.sym(name, "text_lo"))
    return ctx.b.pack(lo, imm(0))


def reference_slot(ctx: Emitter, var: Var, sampler: Var | None = None) -> int:
    """Word number in constant bank 0 of a reference's handle; the first use allots it.

    Up to sm_89 the index of a sampler is above the low 20 bits of the texture's word; `sampler` then shares that
    word.
    """
    names = [v.name for v in (sampler, var) if v is not None]
    ctx.module.data.used.update(v for v in (sampler, var) if v is not None)
    kernel = ctx.module.kernel
    words: dict[int, list[str]] = {}
    for known in kernel.references:
        words.setdefault(known.offset, []).append(known.symbol)
    for at, symbols in words.items():
        if symbols == names:
            return at // 4
    # Where all kernels have their slots at one place, it is after the largest parameters.
    common = ctx.target.has(features.UNIFORM_HANDLES)
    parameters = ctx.module.largest_parameters() if common else kernel.param_bytes
    first = data_layout.align_up(parameters, ctx.target.number("reference_alignment"))
    at = ctx.target.parameters_at(parameters) + first + 4 * len(words)
    upper = R_SAMP_HEADER_INDEX_0 if ctx.target.has(features.SEPARATE_SAMPLERS) else R_SAMP_HEADER_INDEX
    types = {"texref": R_TEX_HEADER_INDEX, "surfref": R_SURF_HEADER_INDEX, "samplerref": upper}
    for v in (sampler, var):
        if v is not None:
            kernel.references.append(Reloc(at, types[v.type], v.name))
    return at // 4


def reference_symbol(ctx: Emitter, var: Var) -> Opnd:
    """In a relocatable module: the word number of :func:`reference_slot`, which the linker fills in."""
    ctx.module.data.used.add(var)
    return ctx.fn.sym(var.name, "bindless")


def reference_handle(ctx: Emitter, var: Var) -> Opnd:
    """In a relocatable module: the handle of a reference, read from the bank at an offset that the linker fills in."""
    ctx.module.data.used.add(var)
    return ctx.b.r("LDC", ctx.fn.sym(var.name, "cbank"), RZ)


def _reference_value(ctx: Emitter, var: Var) -> Opnd:
    """A texture or surface reference as a value: its handle.  (Texture instructions can read it from the bank.)"""
    kind = imm(descriptors.HANDLE_KINDS[var.type])
    if ctx.options.relocatable:
        handle = ctx.b.pack(reference_handle(ctx, var), kind)
        ctx.state.reference_values[vreg(handle)] = var
        return handle
    slot = reference_slot(ctx, var)
    low = ctx.b.copy(const(0, 4 * slot))
    if not ctx.target.has(features.SEPARATE_SAMPLERS):
        low = _marked(ctx, low)
    value = ctx.b.pack(low, kind)
    ctx.state.param_values[vreg(value)] = 4 * slot
    return value


def _sampler_value(ctx: Emitter, var: Var) -> Opnd:
    """A sampler reference as a value."""
    if ctx.options.relocatable:
        low = reference_handle(ctx, var)
    else:
        low = ctx.b.copy(const(0, 4 * reference_slot(ctx, var)))
    if not ctx.target.has(features.SEPARATE_SAMPLERS):
        low = _marked(ctx, ctx.b.r("SHF.R.U32.HI", RZ, imm(20), low))
    return ctx.b.pack(low, imm(descriptors.HANDLE_KINDS[var.type]))


def _marked(ctx: Emitter, low: Opnd) -> Opnd:
    """The low word of a handle from the bank, with bit 31 set as in a handle that is a value (up to sm_89)."""
    return ctx.b.r("LOP3.LUT", low, imm(1 << 31), RZ, imm(0xFC), NOT_PT)


def _symbol(ctx: Emitter, name: str, addend: int = 0, prefix: str = "") -> Opnd:
    """The 64-bit address of a symbol, from relocations."""
    low = ctx.b.copy(ctx.fn.sym(name, prefix + "lo32", addend))
    return ctx.b.pack(low, ctx.b.copy(ctx.fn.sym(name, prefix + "hi32", addend)))


def _number(value: int, words: int) -> Opnd:
    return imm64(value) if words == 2 else imm(value)
