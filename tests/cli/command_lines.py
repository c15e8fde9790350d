"""Command lines whose messages and exit codes must be those of ptxas; k.ptx and friends are in :data:`FILES`."""

HEAD = ".version 8.0\n.target {}\n.address_size 64\n"
KERNEL = (
    ".visible .entry k(.param .u64 p0) { .reg .b64 %rd<4>; ld.param.u64 %rd1,[p0]; st.global.u32 [%rd1],1; ret; }\n"
)

FILES = {
    "k.ptx": HEAD.format("sm_75") + KERNEL,
    "t90.ptx": HEAD.format("sm_90") + ".visible .entry k(){ ret; }\n",
    "bad.ptx": HEAD.format("sm_75") + ".visible .entry k(){ .reg .b32 %r<2>; add.u32 %r1, %zz, 1; ret; }\n",
    "syn.ptx": HEAD.format("sm_75") + ".visible .entry k(){ foo; ret; }\n",
    "empty.ptx": "",
    "new.ptx": ".version 99.99\n",
    "pragma.ptx": HEAD.format("sm_75") + '.pragma "a\n\nb";\n.visible .entry k(){ ret; }\n',
    "string.ptx": HEAD.format("sm_75") + '"a\n\nb"\n.visible .entry k(){ ret; }\n',
    "inlined.ptx": HEAD.format("sm_75")
    + '.file 1 "a"\n.visible .entry k(){\n.loc 1 1 1\n.loc 1 2 1, function_name x, inlined_at 1 1 1\nret; }\n',
    "spilling.ptx": HEAD.format("sm_75")
    + '.func f(){ .pragma "enable_smem_spilling 1"; ret; }\n.visible .entry k(){ ret; }\n',
    "narrow.ptx": HEAD.format("sm_75")
    + ".func f(.reg .u16 a) { ret; }\n.visible .entry k(){ .reg .u16 h; call f, (h); ret; }\n",
    "debug.ptx": HEAD.format("sm_75, debug") + ".visible .entry k(){\n.loc 1 1 1\nret; }\n",
    "l.ptx": HEAD.format("sm_75") + ".visible .entry k(){\n.loc 1 1 1\nret; }\n",
    "debugless.ptx": HEAD.format("sm_75, debug") + ".visible .entry k(){ ret; }\n",
    "doubles.ptx": HEAD.format("sm_75") + ".visible .entry d(){ .reg .f64 %d<4>; add.f64 %d1, %d2, %d3;\nret; }\n",
    "mixed.ptx": HEAD.format("sm_75")
    + ".visible .entry m(){ .reg .f64 %d<4>; add.f64 %d1, %d2, %d3;\nadd.f64 %d1, %r9, %d2;\nneg.f64 %d1, %d1; ret; }\n",
    "broken.ptx": HEAD.format("sm_75")
    + ".visible .entry m(){ .reg .f64 %d<4>; add.f64 %d1, %d2, %d3;\nadd.f64 %d1, ;\nneg.f64 %d1, %d1; ret; }\n",
    "steps.ptx": HEAD.format("sm_75")
    + '.visible .entry k(){ .reg .b32 %r; .reg .b16 %h;\n.loc 1 1 1\n.pragma "foo";\nld.global.u32 %r, [%h];\nret; }\n',
    "f.ptx": HEAD.format("sm_75")
    + ".func g() { ret; }\n.visible .entry a() { ret; }\n.visible .entry b() { call g; ret; }\n.visible .entry c() { ret; }\n",
    "t32.ptx": ".version 8.0\n.target sm_80\n.address_size 32\n.visible .entry k(){ ret; }\n",
    "extern.ptx": HEAD.format("sm_75") + ".extern .func g();\n.visible .entry k(){ call g; ret; }\n",
    "limits.ptx": HEAD.format("sm_75")
    + "".join(
        f".visible .entry k{n}() {words} {{ ret; }}\n"
        for n, words in enumerate(
            (
                "",
                ".maxnreg 40",
                ".maxnreg 64",
                ".maxntid 1024",
                ".maxntid 512 .minnctapersm 2",
                ".maxntid 512 .minnctapersm 1",
                ".minnctapersm 2",
                ".reqntid 64 .maxnreg 32 .minnctapersm 8",
            )
        )
    ),
    "wide.ptx": HEAD.format("sm_75") + ".visible .entry k() .maxntid 2048 { ret; }\n",
    "large.ptx": HEAD.format("sm_75") + ".const .b8 c[65537];\n.visible .entry k(){ ret; }\n",
    "t80.ptx": HEAD.format("sm_80") + ".visible .entry e80(){ ret; }\n",
    "exact.ptx": HEAD.replace("8.0", "9.0").format("sm_100a") + ".visible .entry k(){ ret; }\n",
    "o1.opt": '-arch sm_80 "-v"\n-O2 nosuch.ptx',
    "o2.opt": "-foo",
    "o3.opt": "-optf o2.opt",
    "words.opt": '-o "a b" \\"x\\" \'q q\' a"b c"d',
    "loop.opt": "-optf loop.opt",
}

STOPPED = """
mixed.ptx -warn-double-usage
broken.ptx -warn-double-usage
doubles.ptx mixed.ptx -warn-double-usage
mixed.ptx doubles.ptx -warn-double-usage -Werror
broken.ptx doubles.ptx -warn-double-usage
doubles.ptx doubles.ptx -warn-double-usage
k.ptx doubles.ptx l.ptx -warn-double-usage -e zz
debugless.ptx -e zz
debugless.ptx -e k,zz -arch sm_80
l.ptx -astoolspatch
k.ptx -fdcmpt -slr
k.ptx -membermask-overlap false -no-membermask-overlap=false -maxrregcount x
k.ptx -g -cloning yes
k.ptx -g -cloning x -flcm x
k.ptx -g -cloning yes -O3
k.ptx --fast-compile -cloning x
k.ptx --compile-as-tools-patch -cloning yes
k.ptx --fast-compile -ewp --compile-as-tools-patch
k.ptx --ext-desc-file=x --ext-desc-string=x
k.ptx --fast-compile -ewp -maxrregcount x
k.ptx -disable-smem-reservation true -maxrregcount x
k.ptx -abi no
-O 3
k.ptx -O 3
k.ptx -Ox
k.ptx -O -1
k.ptx -O99999999999
k.ptx --opt-level
k.ptx --opt-level=x
k.ptx -m32
k.ptx -m 32
k.ptx --machine 32
k.ptx -mx
k.ptx -m
k.ptx -m=
k.ptx -maxx
k.ptx -arch sm_82
k.ptx -arch=sm_82
k.ptx -archsm_80
k.ptx -arch
k.ptx -arch=
k.ptx -arch SM_80
k.ptx -arch=sm_80=x
k.ptx -foo
k.ptx --foo
k.ptx --foo=3
k.ptx --opt-lev 3
k.ptx --opt-level3
k.ptx -gpu-name sm_80
k.ptx --arch sm_80
k.ptx --v
k.ptx -verbose
k.ptx -v=true
k.ptx -v true
k.ptx --verbose=x
k.ptx --fmad 1
k.ptx --fmad=1
k.ptx --fmad
k.ptx -fmad=
k.ptx --fmad TRUE
k.ptx -maxrregcount=x
k.ptx -maxrregcount=32x
k.ptx -maxrregcount
k.ptx -minnctapersm=x
k.ptx -ofoo.cubin
k.ptx -o
k.ptx -ek
k.ptx -e
k.ptx -ias
k.ptx -dlcm=xx
k.ptx -dlcm=
k.ptx -dscm=xx
k.ptx -flcm=xx
k.ptx -fscm=ca
k.ptx -dlcmca
k.ptx -Ofc
k.ptx -Ofcmax
k.ptx -Ofc=
k.ptx --Ofast-compile=bogus
k.ptx -O2 -Ofc=mid
k.ptx -O0 -Ofc=mid
k.ptx -Ofc=min -O3
k.ptx -Ofc=max -O1
k.ptx -g -O2
k.ptx -g -O3 -lineinfo
k.ptx -regUsageLevel=x
k.ptx -func-maxrregcount=x -c
k.ptx -pic=x
k.ptx -sanitize=foo
k.ptx -sanitize=
k.ptx -split-compile=-4
k.ptx --cuda-api-version 12.4
k.ptx -device-stack-protector
k.ptx -W
k.ptx -1
k.ptx -=3
k.ptx --=3
-- k.ptx
k.ptx --
k.ptx -V=3
-h -foo
-V -foo
--version k.ptx -arch=bad
nosuch.ptx
k.ptx nosuch.ptx
nosuch1.ptx nosuch2.ptx
@o1.opt
nosuch.ptx -O2 -O3
nosuch.ptx -O2 -O3 -g
nosuch.ptx -arch=sm_80 -arch=sm_90
nosuch.ptx -fmad=true -fmad=false
nosuch.ptx -regUsageLevel=3 -regUsageLevel=4
nosuch.ptx -o a -o b
nosuch.ptx -O3 -O3
nosuch.ptx -dlcm=xx
nosuch.ptx -maxrregcount=17
nosuch.ptx -maxrregcount=300
nosuch.ptx -maxrregcount=-1
nosuch.ptx -maxrregcount=0
nosuch.ptx -maxrregcount=archmin
nosuch.ptx -w -maxrregcount=17
nosuch.ptx -Werror -maxrregcount=17
nosuch.ptx -Werror -w -maxrregcount=17
nosuch.ptx -Werror -O2 -O3
nosuch.ptx -suppress-debug-info
nosuch.ptx -Werror -suppress-debug-info
nosuch.ptx -regUsageLevel=11
nosuch.ptx -regUsageLevel=-1
nosuch.ptx -g -lineinfo
nosuch.ptx -g -Ofc=max
nosuch.ptx -g -regUsageLevel=5
nosuch.ptx -optf o1.opt
-optf o2.opt
-optf o3.opt k.ptx
-optf=words.opt
-optf nosuch.opt
-optf loop.opt k.ptx
-ias ".version 99.99"
--input-as-string ".version 99.99"
new.ptx
pragma.ptx
string.ptx
inlined.ptx
spilling.ptx
narrow.ptx
debug.ptx
-ias ""
-ias foo
empty.ptx
.
bad.ptx
syn.ptx
t90.ptx
t90.ptx -arch=compute_80
bad.ptx -o /nonexist/foo
k.ptx -arch=lto_90a
exact.ptx -arch=compute_100f
exact.ptx -arch=lto_100
exact.ptx -arch=compute_103a
exact.ptx -arch=compute_90a
k.ptx -arch lto_100a -O7
nosuch.ptx -arch=lto_121a
k.ptx k.ptx
bad.ptx syn.ptx
f.ptx -e g
f.ptx -e zz -e g
f.ptx -e g,zz
f.ptx -e a,g
f.ptx -e a,b,a
k.ptx -Ofc=mid -O
k.ptx -Ofc=max -O-1
k.ptx t80.ptx
k.ptx empty.ptx
empty.ptx empty.ptx
k.ptx bad.ptx
extern.ptx
large.ptx
k.ptx -dlcm=xx -dscm=yy -flcm=zz
k.ptx -c -astoolspatch
k.ptx --compiler-stats
k.ptx --compiler-stats=t,x
k.ptx --fast-compile=1
k.ptx --fast-compile --cloning=yes
k.ptx --verbose-tkinfo=1
k.ptx --use-trace-pid=x
k.ptx --sw4915215=true -arch=sm_100
k.ptx --abi-compile=no
k.ptx --jobserver -split-compile=4 -Werror
k.ptx -dlcm=cs nosuch.ptx extern.ptx
k.ptx nosuch.ptx bad.ptx x k.ptx
t80.ptx '-ias=.version 98.9'
k.ptx bad.ptx '-ias=.version 98.9'
k.ptx --sw4915215=false
k.ptx --sw4915215=true -arch sm_100f
-g t90.ptx
-g extern.ptx
bad.ptx --ptx-length=-1
k.ptx --okey=0x100000000
bad.ptx -print-potentially-overlapping-membermasks -blocks-are-clusters -arch sm_80
-maxntid=16 -astoolspatch f.ptx
k.ptx -Ofc=x --ftrace-phase-after=x
steps.ptx -Werror
l.ptx t80.ptx
l.ptx -e nosuch
steps.ptx t80.ptx
l.ptx -e nosuch -Werror
k.ptx --profile-options=a=b
k.ptx --profile-options=a=b,c=d -v
k.ptx --profile-options= -v --profile-options=a -maxrregcount=x
k.ptx --profile-options==b
bad.ptx --profile-options=a=b
k.ptx --profile-options=a=b,c
k.ptx --profile-options=a=b -maxrregcount=300 -g
extern.ptx --profile-options=a=b
k.ptx --nv-host nosuch -v
k.ptx --nv-host empty.ptx
k.ptx --nv-host nosuch -o no/such/x
k.ptx --nv-host .
bad.ptx -nv-host nosuch -c
k.ptx --cuda32f3056bbb x
"""
"""Lines that end before any code is generated, one a line, in shell syntax.bad.ptx empty.ptx k.ptx
empty.ptx k.ptx l.ptx
l.ptx k.ptx extern.ptx
t90.ptx --sw4915215 true
t80.ptx -suppress-debug-info
extern.ptx -suppress-debug-info -gno-tmem-access-check
k.ptx --profile-options=x -mx
k.ptx --ext-desc-string=x
k.ptx --okey -1
t80.ptx nosuch.ptx
f.ptx f.ptx -arch=compute_80
k.ptx f.ptx k.ptx -arch=lto_80
bad.ptx --sw200428197 true -sanitize memcheck -preserve-relocs
k.ptx --fast-compile -astoolspatch
k.ptx -regUsageLevel 20 --ptx-length 1 -dlcm x --abi-compile x --disable-smem-reservation true --sw1729687 true -maxrregcount 300 -maxntid 3 -func-maxrregcount 16 --ftrace-phase-after x --sw4915215 true -c --fast-compile -Werror
"""

ACCEPTED = """
k.ptx -uumn -fdcmpt
k.ptx -fdcmpt --uumn
doubles.ptx l.ptx -warn-double-usage -e d
steps.ptx
steps.ptx -suppress-debug-info
steps.ptx -g
k.ptx --fast-compile -ewp -split-compile 2
k.ptx -disable-smem-reservation true --fast-compile -g
k.ptx -g -c -cloning yes --fast-compile -ewp
k.ptx -abi yes
k.ptx -sanitize memcheck -v
k.ptx -sanitize memcheck -c
k.ptx --link-info x -sanitize threadsteer
k.ptx
k.ptx -arch=compute_80
k.ptx -arch=lto_80
k.ptx -arch=lto_103
k.ptx -arch=lto_120f
k.ptx -arch=compute_100a
k.ptx -arch compute_110f -v
k.ptx -arch=compute_121
t32.ptx -arch=compute_100
extern.ptx -arch=compute_120
large.ptx -arch=lto_100f
t90.ptx -arch=compute_90 -o x.cubin
k.ptx -O3 -v
k.ptx -O=3 -m64
k.ptx --opt-level 3 -m 64 -arch sm_80 -o=a.cubin
k.ptx -O -fmad false -w
--gpu-name=sm_90a --output-file b.cubin k.ptx --verbose
-ias "$K"
k.ptx -maxrregcount=64 --warn-on-spills --warn-on-local-memory-usage
k.ptx -O2 -O3
f.ptx -e c,a -v
f.ptx -e b, -v
f.ptx k.ptx -v -arch=sm_80
f.ptx -maxntid=64,2 -minnctapersm=2
k.ptx -maxntid=32,2,3,4
k.ptx -maxntid=64 -maxrregcount=32
k.ptx -suppress-debug-info
l.ptx -suppress-debug-info
l.ptx
k.ptx -legacy-bar-warp-wide-behavior --jobserver -split-compile=2
k.ptx --jobserver -split-compile=1
k.ptx -O -O3
k.ptx -O3 -O
f.ptx -e a,a -c -v
f.ptx -v -g
f.ptx t80.ptx -arch=sm_90 -v
-ias "$K" t80.ptx -arch=sm_80 -v
f.ptx -func-maxrregcount=16 -c -v
k.ptx -func-maxrregcount=zz
f.ptx -maxrregcount=32 -v
k.ptx -regUsageLevel=12 -g
k.ptx --compiler-stats-file=s.json
k.ptx --use-trace-pid=3
k.ptx --ftrace-phase-after=x
k.ptx --sw1729687=true --sw200387803=true --sw4575628=true --blocks-are-clusters=true
k.ptx --cloning=no -v
k.ptx -opt-fp-atomics -make-errors-visible-at-exit -sanitize threadsteer
k.ptx -Werror --ftrace-phase-after x
k.ptx --fast-compile --split-compile 2
k.ptx --opt-pointers
k.ptx --set-texmode-raw true
k.ptx -device-stack-protector true
k.ptx -maxrregcount=archmax -v
k.ptx -arch=lto_80 --sw1729687 true --sw200428197 true -preserve-relocs
k.ptx -arch=sm_90 --sw4575628 true
k.ptx --okey 0 --ptx-length 2 --sw200764156 true
l.ptx -g -gno-tmem-access-check
k.ptx -print-potentially-overlapping-membermasks
k.ptx -print-potentially-overlapping-membermasks -arch sm_80
k.ptx --sw4915215=false -arch sm_100
k.ptx --sw4915215=true -arch sm_100a
k.ptx --ptx-length=4294967295
k.ptx -legacy-bar-warp-wide-behavior -arch sm_80
k.ptx -nv-host k.ptx -ewp -Werror
k.ptx -suppress-debug-info -arch=compute_80
k.ptx -legacy-bar-warp-wide-behavior -gno-tmem-access-check -arch=lto_80
k.ptx --nv-host nosuch -ewp --fast-compile
k.ptx -cudasw32f3056bbb true -v
large.ptx -reserve-null-pointer -arch=compute_90
k.ptx -maxrregcount=24 -minnctapersm=0 -maxntid=-1
k.ptx -maxrregcount=300 -v
limits.ptx -maxrregcount=64 -v
wide.ptx -maxrregcount=64 -v -override-directive-values
limits.ptx -maxrregcount=32 -v -override-directive-values
limits.ptx -maxrregcount=40 -v -g -w
"""
"""Lines that compile."""
