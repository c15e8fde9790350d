"""-g: PTX registers are where the tables say, at nearly all lines where ptxas's tables find them, and each line has code."""

import json
from pathlib import Path

import numpy as np
import pytest

import orias
from orias.cubin.elf import ElfFile
from orias.cubin.lineread import PTX_LINE, line_tables
from orias.ptx.ast import Instr
from orias.ptx.debug import variable_registers
from orias.ptx.parser import parse
from tests.debuginfo.stopped import wrong_places
from tests.debuginfo.test_debuginfo import tables, text_of
from tests.kernels.test_kernels import arguments
from tests.rotation import rotating
from tools.debug_info.compare_locals import compared
from tools.debug_info.true_places import compared as true_places
from tools.debug_info.true_places import judged

KERNELS = Path(__file__).parent.parent / "kernels"
ARCHES = ("sm_75", "sm_80", "sm_90", "sm_100a")


def compiled(name: str, arch: str) -> tuple[str, bytes]:
    text = text_of(name).replace("sm_80", arch)
    return text, orias.compile(text, arch=arch, debug=True, self_check=True).data


@pytest.mark.parametrize("arch", rotating(ARCHES, 1, "stopped"))
@pytest.mark.parametrize("case", [3, *(pytest.param(k, marks=pytest.mark.sweep) for k in (0, 1))])
def test_values_are_where_the_tables_say(case: int, arch: str) -> None:
    """Branches, functions, a call of a function with a call."""
    a = np.arange(40, dtype=np.int32)
    a[0] = case
    checked, wrong = wrong_places(*compiled("calls", arch)[::-1], arch, ("_Z2k2Pi", 1, 32, [a]), [0, 5])
    assert wrong == [] and checked >= (20, 20, 0, 600)[case]


@pytest.mark.parametrize("arch", rotating(ARCHES, 1, "stopped loop"))
def test_values_are_where_the_tables_say_in_a_loop(arch: str) -> None:
    launch = "_Z1kPfPKii", 1, 32, [np.zeros(64, np.float32), np.arange(64, dtype=np.int32), 4]
    checked, wrong = wrong_places(*compiled("frame", arch)[::-1], arch, launch, [0, 3, 9])
    assert wrong == [] and checked > 2000


@pytest.mark.sweep
@pytest.mark.parametrize("arch", rotating(ARCHES, 2, "stopped generator"))
def test_values_are_where_the_tables_say_in_a_generator(arch: str) -> None:
    case = json.loads((KERNELS / "cases" / "prng.json").read_text())
    launch = case["kernel"], 1, tuple(case["block"]), arguments(case)[0]
    checked, wrong = wrong_places(*compiled("generator", arch)[::-1], arch, launch, [0, 3])
    assert wrong == [] and checked > 20000


SHARED = """.version 8.7
.target ARCH
.address_size 64
.extern .shared .align 16 .b8 rest[];
.visible .entry k(.param .u64 p) {
.reg .b64 %d; .reg .b32 %r<5>;
.shared .align 1 .b8 one[3]; .shared .align 8 .b64 two; .shared .align 4 .b32 three[5];
ld.param.u64 %d, [p];
mov.u32 %r0, one;
mov.u32 %r1, two;
mov.u32 %r2, three;
mov.u32 %r3, rest;
st.shared.u8 [%r0], 1;
st.shared.u32 [%r3], 3;
st.shared.u32 [%r2+4], %r1;
ld.shared.u32 %r4, [three+4];
st.global.u32 [%d], %r4;
ret;
}
"""


@pytest.mark.parametrize("arch", rotating(ARCHES, 1, "shared addresses"))
@pytest.mark.parametrize("compiler", ["orias", "ptxas"])
def test_addresses_in_shared_memory_are_those_of_the_interpreter(compiler: str, arch: str, tmp_path: Path) -> None:
    text = SHARED.replace("ARCH", arch)
    cubin = judged(text, arch, tmp_path) if compiler == "ptxas" else orias.compile(text, arch=arch, debug=True).data
    checked, wrong = wrong_places(cubin, text, arch, ("k", 1, 32, [np.zeros(4, np.uint32)], 16), [0, 7])
    assert wrong == [] and checked > 40


@pytest.mark.parametrize("arch", rotating(("sm_80", "sm_90"), 1, "places"))
@pytest.mark.parametrize("name", ["generator", *(pytest.param(n, marks=pytest.mark.sweep) for n in ("calls", "frame"))])
def test_places_of_ptxas_are_found(name: str, arch: str) -> None:
    there, _, both, _ = compared(text_of(name).replace("sm_80", arch), arch)
    assert there > 300 and both >= 0.94 * there, (there, both)


@pytest.mark.parametrize("name", ["frame", pytest.param("calls", marks=pytest.mark.sweep)])
def test_each_ptx_instruction_has_code(name: str, arch: str = "sm_80") -> None:
    """Moves, parameters and jumps to the next line too: a debugger can stop at each."""
    text, cubin = compiled(name, arch)
    elf = ElfFile(cubin)
    found = {(elf.sections[k].name, row.line) for k, rows in line_tables(elf, PTX_LINE).items() for row in rows}
    for f in parse(text, "k.ptx").functions:
        wanted = {s.line for s in f.body or [] if isinstance(s, Instr)}
        assert {line for line in wanted if (f".text.{f.name}", line) not in found} == set()


KERNEL = """.version 8.7
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) {{
.reg .b64 %d; .reg .b32 %a, %b, %c; .reg .pred %q;
{} }}
"""


def rows_of(body: str) -> tuple[list[tuple[str, int, int, int, int, int]], list[int], int]:
    """The rows of a kernel, the first offset of each line of its body, and the end of the last one."""
    cubin = orias.compile(KERNEL.format(body), arch="sm_80", debug=True).data
    elf = ElfFile(cubin)
    rows = next(iter(line_tables(elf, PTX_LINE).values()))
    first = [min(r.offset for r in rows if r.line == 6 + k) for k in range(len(body.splitlines()))]
    return tables(cubin)["k"], first, max(r.offset for r in rows)


def located(rows: list[tuple[str, int, int, int, int, int]], name: str, offset: int) -> set[int]:
    return {r[2] for r in rows if r[0] == name and r[3] <= offset < r[4]}


def test_a_value_that_nothing_reads_has_a_place() -> None:
    rows, first, _ = rows_of("ld.param.u64 %d, [p];\nmov.u32 %a, 7;\nst.global.u32 [%d], 1;\nret;")
    assert len(located(rows, "%a", first[2])) == len(located(rows, "%a", first[3])) == 1
    assert not located(rows, "%a", first[1])


def test_a_value_that_nothing_reads_has_a_place_after_the_end_of_its_block() -> None:
    rows, first, _ = rows_of("ld.param.u64 %d, [p];\nmov.u32 %a, 7;\nL: st.global.u32 [%d], 1;\nret;")
    assert len(located(rows, "%a", first[2])) == len(located(rows, "%a", first[3])) == 1


def test_values_have_registers_of_their_own_while_there_are_any() -> None:
    values = "".join(f"add.u32 %r{k}, %a, {k};\n" for k in range(45))
    rows, _, end = rows_of(f".reg .b32 %r<45>; mov.u32 %a, %tid.x;\n{values}ld.param.u64 %d, [p];\nret;")
    assert [k for k in range(45) if not located(rows, f"%r{k}", end)] == []


def test_a_value_ends_where_the_register_is_assigned_again() -> None:
    """Never two places, and after a join only a place that both ways share."""
    rows, first, end = rows_of(
        "ld.param.u64 %d, [p];\nld.global.u32 %b, [%d];\nmov.u32 %a, %b;\nadd.u32 %c, %a, %b;\nadd.u32 %a, %c, 3;\n"
        "mov.u32 %b, %a;\nst.global.u32 [%d], %b;\nst.global.u32 [%d+4], %c;\nret;"
    )
    for offset in range(0, end + 16, 16):
        assert len(located(rows, "%a", offset)) <= 1 and len(located(rows, "%b", offset)) <= 1
    for k in range(3, 9):
        assert len(located(rows, "%a", first[k])) == 1, k


def test_no_place_before_the_first_value() -> None:
    """Values of constants and addresses are not there before the instruction that makes them."""
    rows, first, _ = rows_of(
        "ld.param.u64 %d, [p];\nmov.u32 %a, 1;\nst.global.u32 [%d], %a;\nmov.u32 %c, 1;\nst.global.u32 [%d], %c;\nret;"
    )
    assert not located(rows, "%c", first[3]) and located(rows, "%c", first[4])
    assert not located(rows, "%d", 0)


def regx(name: str) -> str:
    """The place of a variable in a register: DW_OP_regx with the characters of its name as LEB128."""
    number, items = int.from_bytes(name.encode(), "big"), [0x90]
    while number:
        items.append(number & 0x7F | (0x80 if number > 0x7F else 0))
        number >>= 7
    return "\n".join(f".b8 {x}" for x in items)


VARIABLES = (
    KERNEL.format(
        "ld.param.u64 %d, [p];\nmov.u32 %a, 7;\nmov.u32 %b, %tid.x;\n.reg .b32 %r<30>, %s<150>;\n"
        + "".join(f"add.u32 %r{k}, %b, {k};\n" for k in range(30))
        + "".join(f"mul.lo.u32 %s{k}, %b, {k + 3};\n" for k in range(150))
        + "L:\n"
        + "".join(f"st.global.u32 [%d], %r{k};\n" for k in range(30))
        + "M: add.u32 %c, %b, 1;\n"
        + "".join(f"mul.lo.u32 %s{k}, %c, {k + 3};\n" for k in range(150))
        + "ret;\nN:\n",
    )
    + ".section .debug_loc { .b64 L\n.b64 N\n.b8 6\n.b8 0\n"
    + regx("%a")
    + "\n.b64 L\n.b64 M\n.b8 6\n.b8 0\n"
    + regx("%r4")
    + "\n}\n"
)


def test_registers_of_variables_and_their_ends() -> None:
    module = parse(VARIABLES, "k.ptx")
    lines = {label.name: label.line for label in module.functions[0].labels}
    assert variable_registers(module) == {"k": {"%a": [lines["N"]], "%r4": [lines["M"]]}}
    module.sections[0].name = ".debug_info"
    assert variable_registers(module) == {"k": {"%a": [lines["N"]], "%r4": [lines["M"]]}}


def test_a_variable_stays_to_the_end_of_its_range() -> None:
    """Nothing reads it, and more values follow than there are registers that nothing had."""
    for text, there in ((VARIABLES, True), (VARIABLES.partition(".section")[0], False)):
        cubin = orias.compile(text, arch="sm_80", debug=True).data
        rows = next(iter(line_tables(ElfFile(cubin), PTX_LINE).values()))
        assert bool(located(tables(cubin)["k"], "%a", max(r.offset for r in rows))) == there


def test_variables_that_need_more_registers_get_them() -> None:
    """More than other values may use; those that `.debug_info` alone names stay to the end of the block that declares them."""
    text, _, sections = VARIABLES.partition(".section")
    more = "".join(f"mul.lo.u32 %i{k}, %b, {k + 9};\n" for k in range(90))
    text = text.replace("L:\n", f".reg .b32 %i<90>;\n{more}L:\n")
    info = ".section .debug_info { .b64 L\n.b64 M\n" + "\n".join(regx(f"%i{k}") for k in range(90)) + "\n}\n"
    text = f"{text}{info}.section{sections}"
    cubin = orias.compile(text, arch="sm_80", debug=True, self_check=True).data
    rows = next(iter(line_tables(ElfFile(cubin), PTX_LINE).values()))
    found = tables(cubin)["k"]
    end = next(label.line for label in parse(text, "k.ptx").functions[0].labels if label.name == "M")
    last = max(r.offset for r in rows if r.line < end)
    assert located(found, "%a", max(r.offset for r in rows))
    assert all(located(found, f"%i{k}", last) for k in range(90))


ROUND = (
    KERNEL.format(
        "ld.param.u64 %d, [p];\nmov.u32 %b, %tid.x;\nmov.u32 %c, 0;\n.reg .b32 %r<30>, %s<150>, %v;\n"
        + "L:\nsetp.ne.u32 %q, %c, %b;\n@%q bra M;\nadd.u32 %v, %c, 7;\nst.global.u32 [%d+4], %v;\nM:\n"
        + "".join(f"mul.lo.u32 %s{k}, %c, {k + 3};\n" for k in range(150))
        + "st.global.u32 [%d], %s149;\nadd.u32 %c, %c, 1;\nsetp.lt.u32 %q, %c, 5;\n@%q bra L;\nmov.u32 %a, %c;\nret;\nN:\n",
    )
    + ".section .debug_loc { .b64 L\n.b64 N\n.b8 6\n.b8 0\n"
    + regx("%v")
    + "\n}\n"
)


def test_a_variable_stays_around_a_loop() -> None:
    """It is assigned in one iteration alone, and nothing reads it in the next."""
    cubin = orias.compile(ROUND, arch="sm_80", debug=True, self_check=True).data
    rows = next(iter(line_tables(ElfFile(cubin), PTX_LINE).values()))
    assert located(tables(cubin)["k"], "%v", max(r.offset for r in rows))
    checked, wrong = wrong_places(cubin, ROUND, "sm_80", ("k", 1, 32, [np.arange(99, dtype=np.int32)]), [0, 3])
    assert wrong == [] and checked > 2000


def test_a_product_that_a_sum_reads_has_a_place() -> None:
    """The operation that multiplies and adds at once would leave its line without code."""
    text = KERNEL.format(
        ".reg .b64 %e, %f, %g;\nld.param.u64 %d, [p];\ncvt.u64.u32 %e, %a;\nmul.lo.s64 %f, %e, 36;\nadd.s64 %g, %d, %f;\n"
        "st.global.u32 [%g], %a;\nret;"
    )
    cubin = orias.compile(text, arch="sm_80", debug=True).data
    product = next(
        s for s in parse(text, "k.ptx").functions[0].body or [] if isinstance(s, Instr) and s.sig.name == "mul"
    )
    assert product.line in {r.line for r in next(iter(line_tables(ElfFile(cubin), PTX_LINE).values()))}
    assert {word for name, word, *_ in tables(cubin)["k"] if name == "%f"} == {0, 1}


CALLED = (
    ".version 8.0\n.target sm_80\n.address_size 64\n.func f(.param .b64 a) {\n.reg .b64 %x; .reg .b32 %y;\n"
    "ld.param.u64 %x, [a];\nld.global.u32 %y, [%x+4];\nst.global.u32 [%x], %y;\nret;\n}\n"
    ".visible .entry k(.param .u64 p) { .reg .b64 %d; .reg .b32 %a, %b, %r<30>;\nld.param.u64 %d, [p];\n"
    + "".join(f"ld.volatile.global.u32 %r{k}, [%d+{4 * k}];\n" for k in range(30))
    + "".join(f"st.global.u32 [%d], %r{k};\n" for k in range(30))
    + "L:\n{ .param .b64 x;\nst.param.b64 [x], %d;\ncall f, (x);\n}\nld.global.u32 %b, [%d];\nst.global.u32 [%d+8], %b;\nret;\nN:\n}\n"
    + ".section .debug_loc {\n"
    + "".join(f".b64 L\n.b64 N\n.b8 6\n.b8 0\n{regx(f'%r{k}')}\n" for k in range(30))
    + "}\n"
)


def test_values_stay_in_registers_that_a_known_function_leaves() -> None:
    """Though the calling convention lets it change them; in objects, where it may be another one, in those that the convention keeps."""
    head, _, rest = CALLED.partition(".func f")
    callee, _, kernel = rest.partition(".visible")
    kernel, _, section = kernel.partition(".section")
    later = f"{head}.func f(.param .b64 a);\n.visible{kernel}.func f{callee}.section{section}"
    kept = []
    for text, options in ((CALLED, {}), (later, {}), (CALLED, {"compile_only": True})):
        cubin = orias.compile(text, arch="sm_80", debug=True, self_check=True, **options).data  # type: ignore[arg-type]
        file = ElfFile(cubin)
        lines = {file.sections[i].name: rows for i, rows in line_tables(file, PTX_LINE).items()}
        end = max(r.offset for r in lines[".text.k"])
        kept.append(sum(bool(located(tables(cubin)["k"], f"%r{k}", end)) for k in range(30)))
    assert kept == [30, 30, 30]


MANY = 30
SPILLED = (
    "mov.u32 %b, %tid.x;\nmul.wide.u32 %d, %b, 4;\n.reg .b64 %e;\nld.param.u64 %e, [p];\nadd.u64 %d, %d, %e;\n"
    + f".reg .b32 %r<{MANY}>;\n"
    + "".join(f"ld.global.u32 %r{k}, [%d+{4 * k}];\n" for k in range(MANY))
    + "mov.u32 %c, 0;\nL: add.u32 %c, %c, 1;\nadd.u32 %r3, %r3, %r7;\nmov.u32 %r5, %r4;\nsetp.lt.u32 %q, %c, 3;\n@%q bra L;\n"
    + "".join(f"add.u32 %r{k}, %r{k}, %r{MANY - 1 - k};\n" for k in range(MANY))
    + "".join(f"st.global.u32 [%d+{4 * k}], %r{k};\n" for k in range(MANY))
    + "ret;"
)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("arch", rotating(ARCHES, 1, "spilled"))
def test_spilled_values_have_places_in_the_frame(arch: str) -> None:
    text = KERNEL.format(SPILLED).replace("sm_80", arch)
    cubin = orias.compile(text, arch=arch, debug=True, maxrregcount=24, self_check=True)
    assert cubin.kernels["k"].spill_stores > 0
    rows = tables(cubin.data)["k"]
    assert {name for name, *_ in rows} >= {f"%r{k}" for k in range(MANY)}
    assert sum(r[2] >> 16 == 0x701 for r in rows) >= 10
    checked, wrong = wrong_places(cubin.data, text, arch, ("k", 1, 32, [np.arange(99, dtype=np.int32)]), [0, 7])
    assert wrong == [] and checked > 2000


VECTORS = (
    ".reg .v4 .f32 %v;\n.reg .v2 .u64 %w;\n.reg .v4 .b16 %h;\nld.param.u64 %d, [p];\nld.global.v4.f32 %v, [%d];\n"
    "ld.global.v2.u64 %w, [%d+16];\nld.global.v4.b16 %h, [%d+32];\nadd.f32 %v.y, %v.z, %v.w;\nadd.u64 %w.y, %w.x, 5;\n"
    "mov.b16 %h.x, %h.w;\nst.global.v4.f32 [%d+48], %v;\nst.global.v2.u64 [%d+64], %w;\nst.global.v4.b16 [%d+80], %h;\nret;"
)


@pytest.mark.parametrize("arch", rotating(ARCHES, 1, "vectors"))
def test_elements_of_vector_registers_have_places(arch: str) -> None:
    """Words count from the first element, and the type has a mark for 2 or 4 elements, as in the tables of ptxas."""
    text = KERNEL.format(VECTORS).replace("sm_80", arch)
    cubin = orias.compile(text, arch=arch, debug=True, self_check=True).data
    found = {(r[0], r[1], r[5]) for r in tables(cubin)["k"] if r[0] in ("%v", "%w", "%h")}
    assert found == {(n, k, t) for n, t in (("%v", 0x8E), ("%w", 0x47), ("%h", 0x81)) for k in range(4)}
    checked, wrong = wrong_places(cubin, text, arch, ("k", 1, 32, [np.arange(99, dtype=np.int32)]), [0, 7])
    assert wrong == [] and checked > 200


def test_the_tool_passes_over_what_does_not_compile(tmp_path: Path) -> None:
    head = ".version 8.0\n.target sm_80, debug\n.address_size 64\n"
    text = head + ".extern .func f();\n.visible .entry k() { .reg .b32 %r; mov.u32 %r, 1; call f; ret; }\n"
    assert true_places(text, "sm_80", 1, tmp_path) == {"files refused by Orias": 1}
