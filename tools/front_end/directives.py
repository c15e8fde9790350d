"""Programs about directives: declarations, initialisers, functions, prototypes, launch bounds, debug text, pragmas; right ones and wrong ones.

Half of the programs come from a grammar, half from recorded modules; most have some of their tokens changed.
"""

import random
import re

from orias.target.profile import TARGETS
from tools.front_end.instructions import VERSIONS, Program, modules

GRAMMAR: dict[str, tuple[str, ...]] = {
    "module": ("ITEM PLAIN", "ITEM PLAIN", "VARIABLE VARIABLE PLAIN", "VARIABLE INIT PLAIN", "FUNC PLAIN", "FUNC PLAIN", "ENTRY", "ENTRY",
               "HEADED", "HEADED", "VARIABLE ENTRY", "FUNC FUNC PLAIN", "PROTO FUNC PLAIN", "FUNC ENTRY"),
    "PLAIN": (".entry k ( ) { ret ; }",),
    "HEADED": (".entry k ( ) BOUNDS { ret ; }", ".visible .entry k ( PARAMS ) { ret ; }", ".func h FDIR { ret ; } PLAIN", ".entry k ( ) { REGS STATEMENT ret ; }",
               ".func ( RET ) f ( PARAMS ) { ret ; } PLAIN"),
    "ITEM": ("VARIABLE", "VARIABLE", "VARIABLE", "VARIABLE", "TEXTURE", "FILE", "PROTO", "PRAGMA", "ALIAS", "SECTION", "INIT", "INIT", "INIT"),
    "VARIABLE": ("LINK SPACE ALIGN ATTR VEC TYPE NEW DIMS ;", "SPACE TYPE NEW ;", "LINK SPACE ALIGN TYPE NEW DIMS , NEW ;", "SPACE ALIGN TYPE NEW [ N ] ;"),
    "INIT": ("SPACE TYPE NEW DIMS = { LIST } ;", "LINK SPACE TYPE NEW = VALUE ;", "SPACE TYPE NEW [ ] = { LIST } ;", "SPACE ALIGN TYPE NEW [ 4 ] = { LIST } ;"),
    "LINK": ("", "", "", "", "", ".visible", ".extern", ".weak", ".common"),
    "SPACE": (".global", ".global", ".global", ".global", ".const", ".const", ".shared", "RARE"),
    "RARE": (".local", ".param", ".reg", ".tex"),
    "ALIGN": ("", "", "", "", ".align 4", ".align 8", ".align 16", ".align N", ".align 256"),
    "ATTR": ("", "", "", "", "", "", "", "", "", "", "", ".attribute(.managed)", ".attribute(.unified(N, N))", ".attribute(.foo)", ".attribute(.managed, .unified(1,2))"),
    "VEC": ("", "", "", "", "", "", ".v2", ".v4", ".v8"),
    "TYPE": (".b8", ".u8", ".s8", ".b16", ".u16", ".s16", ".f16", ".f16x2", ".b32", ".u32", ".s32", ".f32", ".b64", ".u64", ".s64", ".f64",
             ".b128", ".pred", ".bf16"),
    "NEW": ("a", "b", "c", "d", "x", "%v", "$s", "_a", "f", "k", "g<4>"),
    "DIMS": ("", "", "[ N ]", "[ ]", "[ N ] [ N ]", "[ ] [ N ]", "[ N + 1 ]"),
    "N": ("0", "1", "1", "2", "2", "3", "4", "4", "8", "8", "16", "32", "64", "128", "0x10", "9U", "ODD"),
    "ODD": ("1024", "-1", "1.0", "65536", "4294967296", "n1", "7"),
    "LIST": ("VALUE", "VALUE , VALUE", "VALUE , VALUE , VALUE", "{ VALUE , VALUE } , { VALUE }", "VALUE , VALUE , VALUE , VALUE , VALUE", ""),
    "VALUE": ("N", "N", "N", "N", "N", "1", "2", "n1", "n1 + 4", "generic(n1)", "0f3F800000", "1.5", "0d3FF0000000000000", "a", "a + 4", "generic(a)", "generic(a) + 8", "0xFF(a)", "0xFF00(b)", "0xFF(0)",
              "- 1", "( 1 + 2 )", "mask(a)", "f", "k", "WARP_SZ", "0x123456789abcdef01", "\"abc\"", "a - 4", "~ 0", "! 1", "1 ? 2 : 3", "(.s64) 3"),
    "TEXTURE": (".global .texref t ;", ".global .surfref s ;", ".global .samplerref p ;", ".tex .u32 t ;", ".tex .u64 t ;", ".extern .global .texref t ;",
                ".global .texref t = { width = 4 , height = 2 } ;", ".global .samplerref p = { filter_mode = nearest } ;"),
    "FILE": (".file N \"a.cu\"", ".file 1 \"a.cu\" , N , N", ".file 1 \"a.cu\"\n.file 1 \"b.cu\"", ".loc 1 2 3", ".file 2"),
    "PROTO": (".func f ;", ".func ( .param .b32 r ) f ( .param .b32 a ) ;", ".extern .func f ;", ".extern .func ( .reg .b32 r ) f ( .reg .b32 a ) ;",
              ".visible .func f ( PARAMS ) ;", ".weak .func f ( PARAMS ) ;", ".extern .entry k ;", ".entry k ( PARAMS ) ;"),
    "PRAGMA": (".pragma \"nounroll\" ;", ".pragma \"foo\" ;", ".pragma \"enable_smem_spilling\" ;", ".pragma \"abi_param_reg 4\" ;", ".pragma \"frequency 3\" ;"),
    "ALIAS": (".alias f , h ;", ".alias f , f ;", ".alias k , f ;", ".alias nothing , f ;"),
    "SECTION": (".section .debug_str { .b8 1 , 2 , 3 }", ".section .debug_info { .b32 .debug_str }", ".section .debug_abbrev { L: .b8 0 \n .b32 L }",
                ".section .foo { .b8 1 }", ".section .debug_loc { .b64 a }"),
    "FUNC": (".func f { BODY ret ; }", ".func ( RET ) f ( PARAMS ) { BODY ret ; }", ".visible .func f ( PARAMS ) { BODY ret ; }",
             ".func h FDIR { BODY ret ; }", ".weak .func ( RET ) h ( PARAMS ) FDIR { BODY ret ; }", ".func f ( PARAM , PARAM ) { ret ; }"),
    "FDIR": ("", ".noreturn", ".local_maxnreg N", ".abi_preserve N", ".abi_preserve_control N", ".unique", "BOUND"),
    "RET": (".param .b32 r", ".reg .b32 r", ".param .b64 r , .param .b32 q", ".param .align 8 .b8 r [ N ]", ".reg .pred r", "PARAM"),
    "PARAMS": ("", "PARAM", "PARAM , PARAM", "PARAM , PARAM , PARAM", ".param .b8 v [ ]", "PARAM , .param .align 8 .b8 v [ ]"),
    "PARAM": (".param TYPE NEW", ".param TYPE p", ".reg TYPE q", ".param ALIGN TYPE NEW DIMS", ".param .u64 .ptr PSPACE .align N NEW",
              ".param .u64 .ptr NEW", ".param .align 16 .b8 st [ 64 ]", ".param .b32 _"),
    "PSPACE": ("", ".global", ".shared", ".const", ".local", ".param"),
    "ENTRY": (".entry k ( ) BOUNDS { BODY ret ; }", ".visible .entry k ( PARAMS ) BOUNDS { BODY ret ; }", ".entry k BOUNDS { BODY }", ".weak .entry k ( PARAMS ) { BODY ret ; }"),
    "BOUNDS": ("", "", "BOUND", "BOUND", "BOUND BOUND", "BOUND BOUND BOUND"),
    "BOUND": (".maxntid N", ".maxntid N , N", ".maxntid N , N , N", ".reqntid N", ".reqntid N , N , N", ".maxnreg N", ".minnctapersm N", ".maxnctapersm N",
              ".maxntid 256", ".reqnctapercluster N", ".reqnctapercluster 2 , 1 , 1", ".explicitcluster", ".maxclusterrank N", ".blocksareclusters",
              ".pragma \"nounroll\" ;", ".local_maxnreg N", ".noreturn", ".maxnreg 64", ".minnctapersm 2"),
    "BODY": ("", "REGS STATEMENT", "REGS STATEMENT STATEMENT", "STATEMENT", "REGS STATEMENT STATEMENT STATEMENT", "{ BODY }"),
    "REGS": (".reg .b32 %r<4> ; .reg .b64 %rd<4> ; .reg .pred %p ;",),
    "STATEMENT": (".reg TYPE NEW ;", ".reg TYPE %r<N> ;", ".reg VEC TYPE NEW ;", ".shared ALIGN TYPE s DIMS ;", ".local ALIGN TYPE l DIMS ;",
                  ".param ALIGN TYPE NEW DIMS ;", "PRAGMA", ".loc 1 N N", ".loc 1 2 3 , function_name L , inlined_at 1 1 1", "L1: bra L1 ;", "L1:",
                  "call f ;", "call f , ( ) ;", "call ( %r1 ) , f , ( %r2 ) ;", "call.uni ( x ) , f , ( a ) ;", "call f , ( p ) ;", "T: .branchtargets L1 , L2 ;",
                  "P: .callprototype ( .param .b32 _ ) _ ( .param .b32 _ ) ;", "P: .callprototype _ ( .param .b8 _ [ ] ) ;", "T: .calltargets f , h ;",
                  "brx.idx %r1 , T ;", "call %rd1 , P ;", "call ( r ) , %rd1 , ( p ) , P ;", "VARIABLE", "INIT",
                  "mov.u32 %r1 , a ;", "mov.u64 %rd1 , b ;", "ld.param.b32 %r1 , [ p ] ;", "ld.global.b32 %r1 , [ a + N ] ;", "st.shared.b32 [ s ] , %r1 ;",
                  "st.param.b32 [ p ] , %r1 ;", "@%p bra L1 ;", "mov.b32 %r1 , N ;", "exit ;", "; "),
}  # fmt: skip
"""Productions: a word in capitals stands for one of its alternatives."""
_TOKEN = re.compile(r"\"[^\"]*\"|[%$.]?[\w$]+(?:::\w+)*|\S|\n")


class Maker:
    """Makes programs about directives; the same seed makes the same programs."""

    def __init__(self, seed: int, targets: tuple[str, ...] = tuple(TARGETS), most: int = 2) -> None:
        self.random = random.Random(seed)
        self.targets = targets
        self.most = most
        self.named = 0
        self.recorded = modules()
        self.tokens = sorted({t for text in self.recorded for t in _TOKEN.findall(text) if len(t) < 24})

    def program(self) -> Program:
        """The next program."""
        r = self.random
        target = r.choice(self.targets)
        version = "9.0" if r.random() < 0.6 else r.choice(VERSIONS)
        head = f".version {version}\n.target {target}\n.address_size 64\n"
        if r.random() < 0.5:
            self.named = 0
            body = self._expanded("module").replace("; ", ";\n").replace(" { ", " {\n").replace('" ;', '";')
        else:
            body = r.choice(self.recorded)
            found = re.match(r"\s*\.version [^\n]*\n\s*\.target [^\n]*\n(?:\s*\.address_size 64[^\n]*\n)?", body)
            if found and r.random() < 0.9:
                body = body[found.end() :]
            elif found:
                head = ""
        for _ in range(r.choice([0, 0, *range(1, self.most + 1)])):
            body = self._changed(body)
        return Program(target, " ".join(body.split())[:160], head, body + "\n")

    def item(self, name: str) -> str:
        """An expansion of a production, half of them with a token changed."""
        text = self._expanded(name).replace("; ", ";\n").replace(" { ", " {\n").replace('" ;', '";')
        return self._changed(text) if self.random.random() < 0.5 else text

    def _expanded(self, name: str) -> str:
        r = self.random
        if name == "NEW" and r.random() < 0.9:
            self.named += 1
            return f"n{self.named}"
        words = r.choice(GRAMMAR[name]).split(" ")
        return " ".join(self._expanded(w) if w in GRAMMAR else w for w in words)

    def _changed(self, text: str) -> str:
        """A text with one token dropped, repeated, exchanged or added."""
        r = self.random
        places = list(_TOKEN.finditer(text))
        if not places:
            return text
        one = r.choice(places)
        other = r.choice(self.tokens)
        if r.random() < 0.5:
            kind = one.group()[0]
            alike = [t for t in self.tokens if t[0] == kind or (t[0].isdigit() and kind.isdigit())]
            other = r.choice(alike or [other])
        new = r.choice(["", other, other, f"{one.group()} {one.group()}", f"{one.group()} {other}"])
        return text[: one.start()] + new + text[one.end() :]
