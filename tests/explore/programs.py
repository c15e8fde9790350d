"""Small PTX programs, each with one decision of the compiler in it."""

from typing import Final

HEAD: Final = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {
  .reg .pred %c; .reg .b32 %r<90>; .reg .b64 %d<10>; .reg .f32 %f<90>;
  .shared .align 16 .b8 s[1024];
  ld.param.u64 %d0, [p];
  ld.param.u64 %d1, [q];
  ld.param.u32 %r0, [n];
  cvta.to.global.u64 %d0, %d0;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %d2, %r1, 4;
  add.s64 %d2, %d2, %d0;
"""
TAIL: Final = "  st.global.u32 [%d2], %r5;\n  ret;\n}\n"

COUNTED: Final = f"""{HEAD}  mov.u32 %r5, 0;
  mov.u32 %r2, 0;
top:
  mad.lo.s32 %r5, %r5, %r1, %r2;
  add.s32 %r2, %r2, 1;
  setp.lt.s32 %c, %r2, 6;
  @%c bra top;
{TAIL}"""
"""Six iterations, written out."""

BY_DATA: Final = f"""{HEAD}  ld.global.u32 %r2, [%d2];
  mov.u32 %r5, 7;
  setp.eq.u32 %c, %r2, 0;
  @%c bra done;
  add.u32 %r5, %r1, %r2;
done:
{TAIL}"""
"""A branch whose condition is loaded."""

KEPT: Final = COUNTED.replace("top:\n", 'top:\n.pragma "nounroll";\n')

UNKNOWN: Final = COUNTED.replace("%r2, 6;", "%r2, %r0;")
"""The launch decides the number of iterations: four run between two tests."""

CALLED: Final = COUNTED.replace("  mad.lo", "  membar.gl;\n  mad.lo").replace("%r2, 6;", "%r2, %r0;")
"""A fence is not copied: loads do not move over it."""

INVARIANT: Final = f"""{HEAD}  mov.u32 %r5, 0;
  mov.u32 %r2, 0;
top:
  mul.lo.s32 %r6, %r1, %r0;
  xor.b32 %r6, %r6, %r1;
  bar.sync 0;
  mad.lo.s32 %r5, %r5, %r6, %r2;
  add.s32 %r2, %r2, 1;
  setp.lt.s32 %c, %r2, %r0;
  @%c bra top;
{TAIL}"""

NEIGHBOURS: Final = f"""{HEAD}  mov.u32 %r2, s;
  shl.b32 %r3, %r1, 4;
  add.s32 %r2, %r2, %r3;
  ld.shared.u32 %r4, [%r2];
  ld.shared.u32 %r6, [%r2+4];
  ld.shared.u32 %r7, [%r2+8];
  ld.shared.u32 %r8, [%r2+12];
  add.s32 %r5, %r4, %r6;
  add.s32 %r5, %r5, %r7;
  add.s32 %r5, %r5, %r8;
{TAIL}"""

ARM: Final = f"""{HEAD}  mov.u32 %r5, %r1;
  setp.lt.s32 %c, %r1, %r0;
  @%c bra over;
  add.s32 %r5, %r5, 7;
  xor.b32 %r5, %r5, 9;
over:
{TAIL}"""

LONG_ARM: Final = ARM.replace("  add.s32 %r5, %r5, 7;\n", "  atom.global.add.u32 %r5, [%d2], 7;\n")


def long(steps: int) -> str:
    """About `steps` instructions: loads, arithmetic and stores in 40 blocks, three of four in a loop."""
    body = ""
    part = steps // 40
    for k in range(40):
        body += f"L{k}:\n"
        for j in range(part // 4):
            body += f"  ld.global.f32 %f{j % 80}, [%d2+{4 * (k * part + j)}];\n"
            body += f"  fma.rn.f32 %f{(j + 5) % 80}, %f{j % 80}, %f{(j + 1) % 80}, %f{(j + 2) % 80};\n"
            body += f"  mul.f32 %f{(j + 6) % 80}, %f{(j + 5) % 80}, %f{(j + 3) % 80};\n"
            body += f"  st.global.f32 [%d2+{4 * (k * part + j)}], %f{(j + 6) % 80};\n"
        if k % 4:
            body += f"  add.s32 %r{10 + k}, %r{10 + k}, 1;\n  setp.lt.s32 %c, %r{10 + k}, %r0;\n  @%c bra L{k};\n"
    start = "".join(f"  mov.u32 %r{10 + k}, 0;\n" for k in range(40)) + "".join(
        f"  mov.f32 %f{k}, 0f3f800000;\n" for k in range(80)
    )
    return f"{HEAD}{start}{body}  mov.u32 %r5, 0;\n{TAIL}"


def crowded(values: int) -> str:
    """Loads of many values, all in use at the end."""
    loads = "".join(f"  ld.global.f32 %f{k}, [%d2+{4 * k}];\n" for k in range(values))
    uses = "".join(f"  fma.rn.f32 %f{k}, %f{k}, %f{(k + 7) % values}, %f{(k + 3) % values};\n" for k in range(values))
    stores = "".join(f"  st.global.f32 [%d2+{4 * k}], %f{k};\n" for k in range(values))
    return f"{HEAD}{loads}  bar.sync 0;\n{uses}  bar.sync 0;\n{stores}  mov.u32 %r5, 0;\n{TAIL}"
