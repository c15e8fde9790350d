"""Texture and surface instructions, a kernel each: every geometry with handles in memory and in parameters."""

HEADER = ".version 9.0\n.target {arch}\n.address_size 64\n"
_KERNEL = """.visible .entry k{n}(.param .u64 h, .param .u64 p, .param .u64 s) {{
.reg .b32 %r<64>; .reg .f32 %f<64>; .reg .b64 %rd<20>; .reg .pred %p<4>; .reg .b16 %h<8>;
ld.param.u64 %rd0, [h]; ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [s];
mov.u32 %r60, %tid.x; mul.wide.u32 %rd9, %r60, 128; add.u64 %rd1, %rd1, %rd9;
{load}
ld.global.v4.f32 {{%f0, %f1, %f2, %f3}}, [%rd1+16]; ld.global.v4.f32 {{%f4, %f5, %f6, %f7}}, [%rd1+32];
ld.global.v4.f32 {{%f8, %f9, %f10, %f11}}, [%rd1+48]; ld.global.v4.u32 {{%r0, %r1, %r2, %r3}}, [%rd1+64];
ld.global.v4.u32 {{%r10, %r11, %r12, %r13}}, [%rd1+80]; ld.global.v4.u32 {{%r14, %r15, %r16, %r17}}, [%rd1+96];
{body}
ret; }}
"""
_LOAD = "ld.global.u64 %rd0, [%rd1]; ld.global.u64 %rd2, [%rd1+8];"
BYTES = 128
"""Of input and output per thread."""
_R = "{%f20, %f21, %f22, %f23}"
_OUT = " st.global.v4.f32 [%rd1], {%f20, %f21, %f22, %f23};"
_IF = " @%p1 st.global.b32 [%rd1+16], %r0;"
_COUNT = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2, "cube": 3, "acube": 3}
_SURFACES = {
    "1d": "{%r0}",
    "2d": "{%r0, %r1}",
    "3d": "{%r0, %r1, %r2, %r2}",
    "a1d": "{%r10, %r0}",
    "a2d": "{%r10, %r0, %r1, %r1}",
}


def _place(dim: str, type_: str) -> str:
    if dim.endswith("ms"):
        return "{%r10, %r11, %r12, %r13}"
    values = [f"%{'f' if type_ == 'f32' else 'r'}{k}" for k in range(_COUNT[dim])]
    if dim[0] == "a":
        values.insert(0, "%r10")
    return "{" + ", ".join([*values, values[-1]] if len(values) == 3 else values) + "}"


def _fetches() -> list[str]:
    out = []
    for type_ in ("f32", "s32"):
        dims = ["1d", "2d", "3d", "a1d", "a2d", *(["cube", "acube"] if type_ == "f32" else ["2dms", "a2dms"])]
        for dim in dims:
            head, at = f"{dim}.v4.f32.{type_} {_R}", f"[%rd0, {_place(dim, type_)}]"
            out.append(f"tex.{head}, {at};{_OUT}")
            out.append(f"tex.{head}|%p1, {at};{_OUT}{_IF}")
            if dim.endswith("ms"):
                continue
            level = "%f4" if type_ == "f32" else "%r14"
            out.append(f"tex.level.{head}, {at}, {level};{_OUT}")
            offsets = {1: "{%r0}", 2: "{%r0, %r1}", 3: "{%r0, %r1, %r2, %r2}"}[_COUNT[dim]]
            if "cube" not in dim:
                out.append(f"tex.{head}, {at}, {offsets};{_OUT}")
                out.append(f"tex.level.{head}, {at}, {level}, {offsets};{_OUT}")
            if type_ == "f32" and dim != "3d":
                out.append(f"tex.{head}, {at}, %f5;{_OUT}")
    for dim in ("1d", "2d", "a1d", "a2d"):
        dx, dy = ("{" + ", ".join(f"%f{k + j}" for j in range(_COUNT[dim])) + "}" for k in (4, 8))
        out.append(f"tex.grad.{dim}.v4.f32.f32 {_R}, [%rd0, {_place(dim, 'f32')}], {dx}, {dy};{_OUT}")
    for dim in ("2d", "a2d", "cube", "acube"):
        out.extend(f"tld4.{c}.{dim}.v4.f32.f32 {_R}, [%rd0, {_place(dim, 'f32')}];{_OUT}" for c in "rgba")
    at = "[%rd0, {%f0, %f1}]"
    out.append(f"tld4.r.2d.v4.f32.f32 {_R}, {at}, {{%r0, %r1}};{_OUT}")
    out.append(f"tld4.r.2d.v4.f32.f32 {_R}|%p1, {at};{_OUT}{_IF}")
    out.append(f"tex.level.2d.v4.f32.f32 {_R}, {at}, %f5, {{%r0, %r1}}, %f6;{_OUT}")
    return out


def _surfaces() -> list[str]:
    out = []
    data = {"": "%r14", ".v2": "{%r14, %r15}", ".v4": "{%r14, %r15, %r16, %r17}"}
    for dim, at in _SURFACES.items():
        for clamp in ("trap", "clamp", "zero"):
            out.append(f"suld.b.{dim}.b32.{clamp} %r20, [%rd0, {at}]; st.global.b32 [%rd1], %r20;")
            out.append(f"sust.b.{dim}.v2.b32.{clamp} [%rd0, {at}], {{%r14, %r15}};")
            out.extend(f"sust.p.{dim}{v}.b32.{clamp} [%rd0, {at}], {d};" for v, d in data.items())
    for dim in ("2d", "3d"):
        for op, types in (
            ("add", "u32 s32 u64"),
            ("min", "u32 s32 u64 s64"),
            ("max", "u32 s32"),
            ("and", "b32"),
            ("or", "b32"),
        ):
            for t in types.split():
                out.append(f"sured.b.{op}.{dim}.{t}.trap [%rd0, {_SURFACES[dim]}], {'%rd0' if '64' in t else '%r14'};")
            out.append(f"sured.p.{op}.{dim}.b32.trap [%rd0, {_SURFACES[dim]}], %r14;")
    return out


SAMPLER = f"tex.2d.v4.f32.f32 {_R}, [%rd0, %rd2, {{%f0, %f1}}];{_OUT}"
"""Needs a target with ``texmode_independent``."""


def forms() -> list[tuple[str, bool]]:
    """Lines, each with the handle in memory (True) and in a parameter."""
    return [(line, memory) for line in [*_fetches(), *_surfaces()] for memory in (True, False)]


def module(arch: str, cases: list[tuple[str, bool]]) -> str:
    """The cases as kernels k0, k1, ..."""
    kernels = [_KERNEL.format(n=n, load=_LOAD if memory else "", body=line) for n, (line, memory) in enumerate(cases)]
    return HEADER.format(arch=arch) + "".join(kernels)
