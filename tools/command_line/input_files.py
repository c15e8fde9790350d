"""The input files that the compared command lines name: {name: text}."""

from tests.cli.command_lines import FILES as BASE
from tests.cli.command_lines import HEAD

_80 = HEAD.format("sm_80")
_75 = HEAD.format("sm_75")
_CALL = "{ .param .b32 a; st.param.b32 [a], %r1; .param .b32 r; call.uni (r), f, (a); ld.param.b32 %r1, [r]; }"
_PARAM = ".param .u64 p0"
_OUT = ".reg .b64 %rd<4>; .reg .b32 %r<9>; .reg .f64 %d<4>; ld.param.u64 %rd1, [p0];"

_READS = f"({_PARAM}) {{ {_OUT} ld.global.u32 %r1, [v]; st.global.u32 [%rd1], %r1; ret; }}\n"
_TEXTURE = (
    f".visible .entry k({_PARAM}) {{ {_OUT} .reg .f32 %f<5>; mov.f32 %f1, 0f00000000; tex.2d.v4.f32.f32 {{%f1,%f2,%f3,%f4}}, [IMAGE, {{%f1,%f1}}]; "
    "st.global.f32 [%rd1], %f1; ret; }\n"
)

FILES = {
    **BASE,
    "t80.ptx": _80 + ".visible .entry e80(){ ret; }\n",
    "two.ptx": _80 + f".visible .entry two({_PARAM}) {{ {_OUT} st.global.u64 [%rd1], %rd1; ret; }}\n.visible .entry two2() {{ ret; }}\n",
    "v1.ptx": _80 + ".visible .global .u32 v;\n.visible .entry v1(){ ret; }\n",
    "v2.ptx": _80 + f".visible .global .u32 v;\n.visible .entry v2({_PARAM}){{ {_OUT} st.global.u64 [%rd1], %rd1; ret; }}\n",
    "old.ptx": ".version 6.3\n.target sm_70\n.address_size 64\n.visible .entry old(){ ret; }\n",
    "new.ptx": ".version 99.0\n.target sm_80\n.address_size 64\n.visible .entry new(){ ret; }\n",
    "nul.ptx": _75 + ".visible .entry k(){ ret; }\n\0\n",
    "crlf.ptx": (_75 + ".visible .entry k(){ ret; }\n").replace("\n", "\r\n"),
    "bom.ptx": "\ufeff" + _75 + ".visible .entry k(){ ret; }\n",
    "noeol.ptx": _75 + ".visible .entry k(){ ret; } // end",
    "noentry.ptx": _75 + ".visible .func (.param .b32 r) f(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1, [a]; st.param.b32 [r], %r1; ret; }\n",
    "data.ptx": _75 + ".visible .global .align 8 .u64 p = d;\n.visible .global .u32 d[4] = {1, 2, 3, 4};\n.visible .const .u32 c = 7;\n"
    + f".visible .entry k({_PARAM}) {{ {_OUT} mov.u64 %rd2, d; ld.const.u32 %r1, [c]; st.global.u64 [%rd1], %rd2; st.global.u32 [%rd1+8], %r1; ret; }}\n",
    "dbl.ptx": _75 + f".visible .entry k({_PARAM}) {{ {_OUT} ld.global.f64 %d1, [%rd1]; mul.f64 %d2, %d1, 0d3FF3C083126E978D; st.global.f64 [%rd1], %d2; ret; }}\n",
    "loc.ptx": _75 + f".visible .entry k({_PARAM}) {{ .local .b32 x[8]; {_OUT} ld.global.u32 %r1, [%rd1]; cvt.s64.s32 %rd2, %r1; "
    "mov.u64 %rd3, x; add.s64 %rd2, %rd2, %rd3; st.local.u32 [%rd2], %r1; ld.local.u32 %r2, [x+4]; st.global.u32 [%rd1], %r2; ret; }\n",
    "shm.ptx": _75 + f".visible .entry k({_PARAM}) {{ .shared .b32 s[32]; {_OUT} ld.global.u32 %r1, [%rd1]; st.shared.u32 [s], %r1; bar.sync 0; "
    "ld.shared.u32 %r2, [s+4]; st.global.u32 [%rd1], %r2; ret; }\n",
    "rec.ptx": _75 + ".func (.param .b32 r) f(.param .b32 a);\n"
    ".func (.param .b32 r) f(.param .b32 a) { .reg .pred %p; .reg .b32 %r<3>; ld.param.b32 %r1, [a]; setp.eq.s32 %p, %r1, 0; @%p bra E; add.s32 %r1, %r1, -1; "
    + _CALL.replace(".param .b32 a", ".param .b32 aa").replace("[a]", "[aa]").replace("(a)", "(aa)").replace(".param .b32 r;", ".param .b32 rr;").replace("(r)", "(rr)").replace("[r]", "[rr]")
    + f" E: st.param.b32 [r], %r1; ret; }}\n.visible .entry k({_PARAM}) {{ {_OUT} ld.global.u32 %r1, [%rd1]; {_CALL} st.global.u32 [%rd1], %r1; ret; }}\n",
    "dbgt.ptx": ".version 8.0\n.target sm_75, debug\n.address_size 64\n.visible .entry k(){ ret; }\n",
    "nt.ptx": _75 + f".visible .entry k({_PARAM}) .maxntid 128, 1, 1 .minnctapersm 2 {{ {_OUT} st.global.u64 [%rd1], %rd1; ret; }}\n",
    "trace.json": '{"traceEvents":[{"args":{"name":"x"},"dur":5,"name":"cicc","ph":"X","pid":1,"tid":0,"ts":10}]}',
    "list.json": "[]",
    "object.json": "{}",
    "ok.opt": "-arch=sm_80 k.ptx",
    "lv1.ptx": _80 + ".global .u32 v = 7;\n.visible .entry lv1" + _READS,
    "lv2.ptx": _80 + ".global .u32 v = 9;\n.visible .entry lv2" + _READS,
    "lv3.ptx": _80 + ".global .u32 v;\n.visible .entry lv3" + _READS,
    "lv4.ptx": _80 + ".visible .global .u32 v = 9;\n.visible .entry lv4" + _READS,
    "lc1.ptx": _80 + ".const .u32 v = 7;\n.visible .entry lc1" + _READS.replace("global.u32 %r1", "const.u32 %r1"),
    "lc2.ptx": _80 + ".const .u32 v = 9;\n.visible .entry lc2" + _READS.replace("global.u32 %r1", "const.u32 %r1"),
    "ls1.ptx": _80 + ".shared .u32 v;\n.visible .entry ls1" + _READS.replace("global.u32 %r1", "shared.u32 %r1"),
    "ls2.ptx": _80 + ".shared .u32 v;\n.visible .entry ls2" + _READS.replace("global.u32 %r1", "shared.u32 %r1"),
    "tex.ptx": _75 + ".global .texref t;\n" + _TEXTURE.replace("IMAGE", "t"),
    "texu.ptx": _75.replace("sm_75", "sm_75, texmode_unified") + ".global .texref t;\n" + _TEXTURE.replace("IMAGE", "t"),
    "texi.ptx": _75.replace("sm_75", "sm_75, texmode_independent") + ".global .texref t;\n.global .samplerref s;\n" + _TEXTURE.replace("IMAGE", "t, s"),
    "g1.opt": "-v\n\n# a comment\n-arch=sm_80\n",
    "g2.opt": "k.ptx -o x.cubin\r\n-v\r\n",
    "g3.opt": "-o \"x y.cubin\" -v",
    "g4.opt": "-arch=sm_80 -O9 -foo",
    "g5.opt": "--maxrregcount 32 \\\n-v",
    "g6.opt": "-O1 -v",
    "g7.opt": "-ias '.version 8.0'",
    "g8.opt": "\"unclosed -v",
}  # fmt: skip
