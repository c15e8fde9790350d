"""First messages on what mild mutations of good texts make: as ptxas 13.0.88 has them (asked one by one)."""

import pytest

import orias

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
KERNEL = ".visible .entry k(.param .u64 p) { .reg .b64 %d<4>; .reg .b32 %r<3>; BODY ret; }\n"


def body(text: str) -> str:
    return HEAD + KERNEL.replace("BODY", text)


def section(text: str) -> str:
    return body("") + ".section .debug_abbrev\n{\n" + text + "\n.b8 1\n}\n"


SYMBOL = "error 4: Illegal to use symbol 'k' of type unexpected as address operand. Use integer or bit only."
CASES = [
    (section(".u8 115"), "error 8: Illegal type for dwarf data"),
    (section(".f32 0"), "error 8: Illegal type for dwarf data"),
    (section(".b8 here"), "error 8: Illegal type for dwarf data"),
    (section(".b8 255\n.b8 -128\n.b8 4294967296\n.b32 2147483648\n.b16 65535"), ""),
    (section(".b8 256"), "error 8: Value out of range for type .b8 256"),
    (section(".b8 300, 1"), "error 8: Value out of range for type .b8 300"),
    (section(".b8 -129"), "error 8: Value out of range for type .b8 -129"),
    (section(".b16 65536"), "error 8: Value out of range for type .b16 65536"),
    (section(".b8 18446744073709551615"), "error 8: Value out of range for type .b8 4294967295"),
    (section(".b8 0f7FC00000"), "fatal 7: Parsing error near '0f7FC00000': syntax error"),
    (section(".b8 255+1"), "fatal 7: Parsing error near '+': syntax error"),
    (body("ld.param.u64 %d1, [k];"), SYMBOL),
    (body("ld.global.u64 %d1, [k+4];"), SYMBOL),
    (body("mov.u32 %r1, %tid.param;"), "fatal 4: Parsing error near '.param': syntax error"),
    (body("mov.u32 %r1, %tid.version;"), "error 4: Unknown vector selector: 'v'"),
    (body("mov.u32 %r1, %tid.xx;"), "error 4: Unimplemented feature: vector swizzle"),
    (HEAD + "cvta.to.global.u64 %rd4, %rd1;\n" + body(""), "fatal 4: Parsing error near 'cvta.to': syntax error"),
    (HEAD + "mad.lo.s64 %rd4, %rd1;\n" + body(""), "fatal 4: Parsing error near 'mad.lo': syntax error"),
    (HEAD.replace("64", "4294967296") + KERNEL, "error 3: Constant overflow"),
    (".target sm_80\n\n.address_size 64\n", "fatal 3: Missing .version directive at start of file '<ptx>'"),
    (HEAD.replace("sm_80", "st"), "fatal 2: Target architecture not defined at start of file '<ptx>'"),
    (HEAD.replace("sm_80", "sm_999"), "fatal 2: Unsupported .target 'sm_999'"),
]


@pytest.mark.parametrize("text, want", CASES)
def test_first_message(text: str, want: str) -> None:
    try:
        said = orias.compile(text, arch="sm_80", opt_level=0).diagnostics
    except orias.CompileError as e:
        said = e.diagnostics
    errors = [f"{d.severity} {d.line}: {d.message}" for d in said if d.severity in ("error", "fatal")]
    assert (errors or [""])[0] == want
