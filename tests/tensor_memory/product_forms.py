"""Every form of tcgen05.mma, as lines of PTX."""

from collections.abc import Iterator

REGISTERS = ".reg .b32 %r<10>; .reg .b64 %l<4>; .reg .pred %p1;"
LOADS = (
    "".join(f"ld.param.u32 %r{k}, [p+{4 * k}];" for k in range(10))
    + "".join(f"ld.param.u64 %l{k}, [p+{40 + 8 * k}];" for k in range(4))
    + "setp.ne.u32 %p1, %r9, 0;"
)
"""Values for the registers of the lines, from a parameter of 72 bytes with the name p."""
SCALES = {
    "mxf8f6f4": ("", ".scale_vec::1X", ".block32"),
    "mxf4": ("", ".scale_vec::2X", ".block32"),
    "mxf4nvf4": (".scale_vec::2X", ".scale_vec::4X", ".block16", ".block32"),
}
_PLACES = ("%l1", "[%r1]")


def _dense_and_sparse() -> tuple[tuple[str, str], tuple[str, str]]:
    return ("", ""), (".sp", ", [%r3]")


def lines(group: int, integers: bool, scaled: bool) -> Iterator[str]:
    """The lines for one block (`group` 1) or a pair (2).

    Not every target has kind i8 (`integers`) and products that scale what they add to (`scaled`).
    """
    lanes = "{" + ", ".join(f"%r{1 + k}" for k in range(4 * group)) + "}"
    head = f".cta_group::{group}.kind::"
    kinds = ("f16", "tf32", "f8f6f4", *(("i8",) if integers else ()))
    for sp, meta in _dense_and_sparse():
        for a in _PLACES:
            for kind in kinds:
                operands = f" [%r0], {a}, %l2{meta}, %r4"
                yield f"tcgen05.mma{sp}{head}{kind}{operands}, %p1;"
                yield f"tcgen05.mma{sp}{head}{kind}{operands}, 0;"
                yield f"tcgen05.mma{sp}{head}{kind}{operands}, {lanes}, %p1;"
                if scaled and kind in ("f16", "tf32"):
                    yield f"tcgen05.mma{sp}{head}{kind}{operands}, %p1, 3;"
                    yield f"tcgen05.mma{sp}{head}{kind}{operands}, {lanes}, %p1, 15;"
                for use in ("fill", "use", "lastuse", "discard"):
                    yield f"tcgen05.mma{sp}{head}{kind}.collector::a::{use}{operands}, %p1;"
                if a != "%l1":
                    yield f"tcgen05.mma{sp}{head}{kind}.ashift{operands}, %p1;"
                    yield f"tcgen05.mma{sp}{head}{kind}.ashift.collector::a::lastuse{operands}, %p1;"
            for kind, vectors in SCALES.items():
                for vector in vectors:
                    name = f"tcgen05.mma{sp}{head}{kind}.block_scale{vector}"
                    operands = f" [%r0], {a}, %l2{meta}, %r4, [%r5], [%r6]"
                    yield f"{name}{operands}, %p1;"
                    for use in ("fill", "use", "lastuse", "discard"):
                        yield f"{name}.collector::a::{use}{operands}, 1;"


def stationary_lines(integers: bool) -> Iterator[str]:
    """The lines of tcgen05.mma.ws."""
    for sp, meta in _dense_and_sparse():
        for a in _PLACES:
            for kind in ("f16", "tf32", "f8f6f4", *(("i8",) if integers else ())):
                name = f"tcgen05.mma.ws{sp}.cta_group::1.kind::{kind}"
                operands = f" [%r0], {a}, %l2{meta}, %r4, %p1"
                yield f"{name}{operands};"
                yield f"{name}{operands}, %l3;"
                for buffer in range(4):
                    for use in ("fill", "use", "lastuse", "discard"):
                        yield f"{name}.collector::b{buffer}::{use}{operands};"
                yield f"{name}.collector::b3::use{operands}, %l3;"


def module(target: str, body: list[str]) -> str:
    """A module with a kernel k that runs the lines."""
    return (
        f".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k(.param .align 8 .b8 p[72])\n{{\n"
        f"{REGISTERS}\n{LOADS}\n" + "\n".join(body) + "\nret;\n}\n"
    )
