"""Addresses in initialisers: the bytes that are known, and the relocations of those that the driver or the linker fills in."""

import pytest

from orias.cubin.relocs import R_8_0, R_64, R_G8_0, R_G64, R_UNIFIED, R_UNIFIED8_0
from orias.lower.frame.data_layout import FUNCTION_BYTE, FUNCTION_OFFSET
from orias.lower.frame.program import LowerOptions, Program
from orias.lower.module import lower_module
from orias.ptx.parser import parse
from orias.target.profile import target

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
DATA = """.const .align 4 .b8 before[260]; .const .align 4 .b8 inner[8]; .global .align 4 .b8 memory[8];
.visible .const .align 8 .u64 used[2] = {before, inner};
"""
FUNCTION = ".visible .func f() { ret; }\n"
BYTES = ".visible .global .align 4 .u8 v[2] = {{0xff({0}), 0xff00({0})}};\n"
WORD = ".visible .global .align 8 .u64 v = {0};\n"


def lowered(text: str, arch: str, relocatable: bool) -> Program:
    return lower_module(parse(HEAD + text), target(arch), LowerOptions(relocatable))


def initial(text: str, arch: str, relocatable: bool) -> tuple[bytes, list[tuple[int, int, str]]]:
    """The bytes and the relocations (offset, type, symbol) of the variable v."""
    (v,) = [v for v in lowered(text, arch, relocatable).variables if v.name == "v"]
    assert v.data is not None
    return v.data, [(r.offset, r.type, r.symbol) for r in v.relocs]


def kernels(count: int, function: str = "f") -> str:
    """Kernels that store the address of a function."""
    return "".join(
        f".visible .entry k{n}(.param .u64 p) {{ .reg .b64 %d<3>; ld.param.u64 %d1, [p]; mov.u64 %d2, {function}; st.global.u64 [%d1], %d2; ret; }}\n"
        for n in range(count)
    )


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_constant_addresses_of_an_executable_are_known(arch: str) -> None:
    place = {v.name: v.offset for v in lowered(DATA, arch, False).variables}["inner"]
    assert place >= 260
    assert initial(DATA + BYTES.format("inner"), arch, False) == (place.to_bytes(2, "little"), [])
    assert initial(DATA + WORD.format("inner"), arch, False) == (place.to_bytes(8, "little"), [])


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_constant_addresses_of_an_object_are_the_linkers(arch: str) -> None:
    program = lowered(DATA, arch, True)
    assert program.const_size == 0 and {v.offset for v in program.variables} == {-1}
    zero = [(0, R_8_0, "inner"), (1, R_8_0 + 1, "inner")]
    assert initial(DATA + BYTES.format("inner"), arch, True) == (bytes(2), zero)
    assert initial(DATA + WORD.format("inner"), arch, True) == (bytes(8), [(0, R_64, "inner")])


@pytest.mark.parametrize("relocatable", [False, True])
@pytest.mark.parametrize("where", ["memory", "generic(inner)"])
def test_global_and_generic_addresses(where: str, relocatable: bool) -> None:
    name = where.removeprefix("generic(").removesuffix(")")
    assert initial(DATA + WORD.format(where), "sm_75", relocatable) == (bytes(8), [(0, R_G64, name)])
    if name == where:
        both = [(0, R_G8_0, name), (1, R_G8_0 + 1, name)]
        assert initial(DATA + BYTES.format(where), "sm_75", relocatable) == (bytes(2), both)


@pytest.mark.parametrize(("arch", "word", "byte"), [("sm_75", R_64, R_8_0), ("sm_90", R_UNIFIED, R_UNIFIED8_0)])
def test_functions_of_an_object(arch: str, word: int, byte: int) -> None:
    assert initial(FUNCTION + BYTES.format("f"), arch, True) == (bytes(2), [(0, byte, "f"), (1, byte + 1, "f")])
    assert initial(FUNCTION + WORD.format("f"), arch, True) == (bytes(8), [(0, word, "f")])


@pytest.mark.parametrize(("arch", "prefix"), [("sm_75", ""), ("sm_90", "unified_")])
def test_function_addresses_in_the_code_of_an_object(arch: str, prefix: str) -> None:
    program = lowered(FUNCTION + kernels(1), arch, True)
    (code,) = [k.entry for k in program.kernels if k.ptx.name == "k0"]
    assert sorted(s.kind for s in code.syms if s.name == "f") == [f"{prefix}hi32", f"{prefix}lo32"]


def test_functions_of_a_kernel_are_offsets_in_its_section() -> None:
    both = [(0, FUNCTION_BYTE, "f"), (1, FUNCTION_BYTE + 1, "f")]
    assert initial(FUNCTION + BYTES.format("f") + kernels(1), "sm_75", False) == (bytes(2), both)
    assert initial(FUNCTION + WORD.format("f") + kernels(1), "sm_75", False) == (bytes(8), [(0, FUNCTION_OFFSET, "f")])


def test_functions_of_several_kernels_are_numbers() -> None:
    names = [f"f{n}" for n in range(33)]
    functions = "".join(f".visible .func {f}() {{ ret; }}\n" for f in names)
    table = f".visible .global .align 8 .u64 all[{len(names)}] = {{{', '.join(names)}}};\n"
    words = {f: initial(functions + table + WORD.format(f) + kernels(2, "f0"), "sm_75", False) for f in names}
    assert sorted(word for word, _ in words.values()) == sorted((8 * n + 8).to_bytes(8, "little") for n in range(33))
    for f, (word, relocs) in words.items():
        assert relocs == []
        assert initial(functions + table + BYTES.format(f) + kernels(2, "f0"), "sm_75", False) == (word[:2], [])


@pytest.mark.parametrize("relocatable", [False, True])
def test_an_address_in_four_bytes_is_filled_in_byte_by_byte(relocatable: bool) -> None:
    data, relocs = initial(DATA + ".visible .global .align 4 .u32 v[2] = {memory, 9};\n", "sm_75", relocatable)
    assert data == bytes(4) + (9).to_bytes(4, "little")
    assert relocs == [(k, R_G8_0 + k, "memory") for k in range(4)]
