"""Right instructions with one odd thing in them: an operand of another class, one more or less, words twice, wrong vectors, other state
spaces, names that nothing declares, odd literals, broken punctuation, directives among statements.

``about`` begins with the kind of change, so that disagreements can be counted by kind.
"""

import random
import re

from orias.target.profile import TARGETS
from tools.front_end.instructions import (
    Line,
    Program,
    head,
    kernel,
)

_BLOCK = 25
_TYPES = (
    "pred",
    "b8",
    "u8",
    "s8",
    "b16",
    "u16",
    "s16",
    "f16",
    "f16x2",
    "b32",
    "u32",
    "s32",
    "f32",
    "b64",
    "u64",
    "s64",
    "f64",
    "b128",
)
_SPACES = (
    "global",
    "shared",
    "local",
    "const",
    "param",
    "shared::cta",
    "shared::cluster",
    "param::entry",
    "param::func",
    "reg",
    "tex",
    "generic",
)
_DECLARED = """.global .u64 gu64[4];
.global .f32 gf32;
.global .b128 gb128;
.global .v4 .b32 gv4;
.const .u32 cu32 = 7;
.shared .b64 sb64[8];
.extern .shared .align 16 .b8 dyn[];
.global .u64 table[2] = { fn0, g32 };
.visible .func fn2 { ret; }
"""
"""Objects of many types, beside those of ``head``."""
_CLASSES = ("gu64", "gf32", "gb128", "gv4", "cu32", "sb64", "dyn", "table", "g32", "tx", "sf", "var_global", "var_const", "var_param", "var_shared",
            "var_local", "mb", "fn0", "fn1", "fn2", "k", "LAB", "TARGETS", "PROTO", "gu64[1]", "gv4.x", "table+8", "%tid", "%tid.x", "%clock64", "%pm0_64",
            "%warpid", "%envreg0", "%laneid", "%is_explicit_cluster", "%reserved_smem_offset_begin", "WARP_SZ", "%SP", "_")  # fmt: skip
_LITERALS = ("0x", "0b2", "08", "0b", "1e400", "1e-400", "0f3f80", "0f3f8000000", "0d3ff0", "'a'", "1.", ".5", "0xFFu", "0xFFUL", "-0", "+1", "--1", "- -1",
             "1?2:3", "1/0", "5%0", "5/2", "WARP_SZ*2", "0xffffffffffffffff", "18446744073709551616", "99999999999999999999", "0x1ffffffffffffffff",
             "-9223372036854775808", "1<<70", "1.5+1.5", "1.5*2", "!1.5", "~1.5", "0f7FC00000", "0f3F800000+1", "-0f3F800000", "(0f3F800000)", "0d7FF0000000000000",
             "(.u64)5", "(.s32)5", "1==1", "1&&0", "0X1F", "0B11", "0F3F800000", "00", "007U", "1U+2", "-1U", "4294967296", "2147483648", "-2147483649",
             "1e3", "1E+3", "1.5f", "\"abc\"", "1 2", "1,2", "1'000", "nan", "inf", "true", "0x1.8p3", "65536", "256", "-129", "1.0", "-.0", "3.4e38")  # fmt: skip
_UNKNOWN = (
    "nowhere",
    "%nothing",
    "%r99999",
    "$x",
    "nowhere+4",
    "nowhere[2]",
    "%tid.q",
    "%foo.x",
    "nowhere.x",
    "%b32_10",
    "%b32_01",
    "%B32_1",
    "undefined_fn",
)
_AMONG = (".reg .b32 %b32_1;", ".reg .b32 odd;", ".version 9.0", ".target sm_90", ".address_size 64", ".param .b32 pp;", ".local .b8 ll[4];", ".shared .b8 ss;",
          ".global .b32 gg;", ".const .b32 cc = 1;", ".entry inner() { ret; }", ".func inner;", ".func inner { ret; }", ".pragma \"nounroll\";", ".pragma \"x\"",
          ".loc 1 1 1", ".file 1 \"a\"", ".maxntid 3", ".align 4", ".visible", ".extern .func e;", ".alias fn0, fn2;", ".section .debug_str { .b8 0 }", "{", "}", "{}",
          ";", ";;", "LAB:", "LAB: LAB2:", "TT: .branchtargets LAB;", "PP: .callprototype _ ();", "CC: .calltargets fn0;", "@%pred_1", "@%pred_1 {", "@%pred_1 ;",
          ".reg .b32 odd<0>;", ".reg .v2 .b32 odd;", ".reg .b32 odd, odd;", ".b32 odd;", ".reg odd;", ".reg .b32 fn0;", ".reg .b32 %tid;", ".minnctapersm 2;")  # fmt: skip
_GUARDS = ("@%b32_1 ", "@5 ", "@!!%pred_1 ", "@nowhere ", "@%pred_1 @%pred_2 ", "@ %pred_1 ", "@-%pred_1 ", "@%f32_1 ", "@%is_explicit_cluster ", "@_ ", "!%pred_1 ",
           "@%pred_1|%pred_2 ", "@{%pred_1} ", "@(%pred_1) ", "@%pred_1, ", "@%pred_1; ", "@true ", "@!%pred_1.x ", "@var_shared ", "@fn0 ")  # fmt: skip
_ENDS = (
    "",
    ";;",
    ",;",
    " ; ;",
    " , %b32_1 ;",
    ": ;",
    ".;",
    " // ;",
    "; }",
    ") ;",
    "] ;",
    "} ;",
    " \\;",
    " # ;",
    "\x0b;",
    "\x0c;",
    "\t;",
    "/* ; */;",
)
KINDS = ("class", "class in address", "more", "less", "word twice", "words of others", "vector", "space", "unknown", "literal", "among", "guard", "end",
         "address", "target", "punctuation", "outside")  # fmt: skip


class Maker:
    """Makes programs from lines, each with one odd thing; the same seed makes the same programs."""

    def __init__(
        self, lines: list[Line], seed: int, targets: tuple[str, ...] = tuple(TARGETS), kinds: tuple[str, ...] = KINDS
    ) -> None:
        self.random = random.Random(seed)
        self.targets = targets
        self.kinds = kinds
        self.left = 0
        self.target = self.head = ""
        self.by_name: dict[str, list[Line]] = {}
        for x in lines:
            self.by_name.setdefault(x.name, []).append(x)
        self.names = sorted(self.by_name)
        self.words = sorted({w for x in lines for w in x.words})

    def text(self) -> str:
        """An instruction with one odd thing."""
        return self._text(
            self.random.choice(self.by_name[self.random.choice(self.names)]), self.random.choice(self.kinds)
        )

    def program(self) -> Program:
        """The next program."""
        r = self.random
        if not self.left:
            self.left = _BLOCK
            self.target = r.choice(self.targets)
            self.head = head("9.0", self.target) + _DECLARED
        self.left -= 1
        one = r.choice(self.by_name[r.choice(self.names)])
        kind = r.choice(self.kinds)
        text = self._text(one, kind)
        body = kernel(text) if kind != "outside" else f"{text}\n{kernel('')}"
        for name, declared in (
            ("LAB", "LAB:"),
            ("TARGETS", "TARGETS: .branchtargets LAB;"),
            ("PROTO", "PROTO: .callprototype _ ();"),
        ):
            if re.search(rf"\b{name}\b(?!:)", text) and not re.search(rf"\b{name}:", text):
                body = body.replace(f" {text}\n", f" {declared}\n {text}\n").replace(
                    " ret;", " LAB: ret;" if name == "TARGETS" else " ret;"
                )
        return Program(self.target, f"{kind}: {text}", self.head, body)

    def _text(self, one: Line, kind: str) -> str:
        r = self.random
        words, operands = list(one.words), list(one.operands)
        at = r.randrange(len(operands)) if operands else 0
        guard, end, before = "", ";", ""
        match kind:
            case "class" if operands:
                operands[at] = r.choice(_CLASSES)
            case "class in address" if operands:
                operands[at] = r.choice(
                    [
                        "[{}]",
                        "[{}+4]",
                        "{}+4",
                        "[{}, {{%b32_1}}]",
                        "{{{}, {}}}",
                        "-{}",
                        "!{}",
                        "{}|%pred_1",
                        "[{}].unified",
                        "{}[0]",
                    ]
                ).format(*[r.choice(_CLASSES)] * 2)
            case "more":
                operands.insert(
                    r.randrange(len(operands) + 1),
                    r.choice([*operands, *operands, "%pred_1", "%b32_1", "0", "[%b64_1]", "{%b32_1, %b32_2}"]),
                )
            case "less" if operands:
                del operands[at : len(operands) if r.random() < 0.2 else at + 1]
            case "word twice" if words:
                w = r.choice(words)
                words.insert(r.choice([words.index(w), len(words), 0]), w)
            case "words of others":
                words.insert(r.randrange(len(words) + 1), r.choice(self.words))
            case "vector" if operands:
                operands[at] = self._vector(operands[at])
            case "space":
                places = [i for i, w in enumerate(words) if w in _SPACES]
                if places:
                    words[r.choice(places)] = r.choice(_SPACES)
                else:
                    words.insert(r.randrange(len(words) + 1), r.choice(_SPACES))
            case "unknown" if operands:
                name = r.choice(_UNKNOWN)
                operands[at] = (
                    re.sub(r"%?[a-z]\w*", lambda m: name, operands[at], count=r.choice([0, 1]))
                    if r.random() < 0.6
                    else name
                )
            case "literal" if operands:
                operands[at] = r.choice(
                    ["{0}", "{0}", "{0}", "[{0}]", "[%b64_1+{0}]", "var_global+{0}", "{{{0}, {0}}}", "[var_shared+{0}]"]
                ).format(r.choice(_LITERALS))
            case "among":
                before = r.choice(_AMONG) + r.choice([" ", "\n "])
            case "guard":
                guard = r.choice(_GUARDS)
            case "end":
                end = r.choice(_ENDS)
            case "address" if operands:
                operands[at] = self._address(operands[at])
            case "target":
                words = [r.choice([w, w.upper(), w + "1", w[:-1]]) for w in words]
            case "punctuation":
                text = f"{'.'.join([one.name, *words])} {', '.join(operands)};"
                mark = r.choice(list(re.finditer(r"[^\w\s]|\s", text)))
                return (
                    text[: mark.start()]
                    + r.choice(
                        [
                            "",
                            mark[0] * 2,
                            ",",
                            ".",
                            ";",
                            "[",
                            "]",
                            "{",
                            "}",
                            "(",
                            ")",
                            "|",
                            "+",
                            "-",
                            "!",
                            ":",
                            "@",
                            "=",
                            "<",
                            "?",
                            "~",
                            "*",
                        ]
                    )
                    + text[mark.end() :]
                )
            case _:
                pass
        return f"{before}{guard}{'.'.join([one.name, *words])} {', '.join(operands)}{end}"

    def _vector(self, old: str) -> str:
        """A vector with something wrong in it."""
        r = self.random
        types = r.choices(_TYPES, k=9)
        size = r.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 16])
        inner = re.sub(r"^\{|\}$", "", old)
        parts = inner.split(",")
        return r.choice(
            ["{}", "{,}", f"{{{inner},}}", f"{{{{{inner}}}}}", f"{{{inner}, {inner}}}", "{" + ", ".join(f"%{types[0]}_{k % 10}" for k in range(size)) + "}",
             "{" + ", ".join(f"%{t}_{k}" for k, t in enumerate(types[: min(size, 9)])) + "}", "{" + ",".join(parts[:-1] or ["%b32_1"]) + "}",
             "{" + ",".join([*parts, parts[-1]]) + "}", "{" + ",".join([*parts[:-1], r.choice(["0", "1.5", "_", "%tid.x", "var_global", "fn0", "[%b64_1]", "-%b32_1", "%b32_1+4", "{%b32_1}"])]) + "}",
             parts[0], f"{{{inner}}}.x", f"-{{{inner}}}", f"[{{{inner}}}]", f"{{{inner}|%pred_1}}", "{_, _}", "{_}", "{_, _, _, _}", f"{{{inner}}}+4"]
        )  # fmt: skip

    def _address(self, old: str) -> str:
        """An address in another form."""
        r = self.random
        inner = old.strip("[]")
        reg = f"%{r.choice(_TYPES)}_1"
        return r.choice(
            [inner, f"[[{inner}]]", f"[{inner}+-4]", f"[{inner}-4]", f"[{inner}+4+4]", f"[{inner}+{reg}]", f"[4+{inner}]", f"[{inner}*4]", f"[{inner}, 4]", f"[{inner}][4]",
             f"[{reg}]", f"[{reg}+4]", f"[-{inner}]", f"[!{inner}]", "[]", f"[{inner},]", f"[{inner}, {{}}]", f"[{inner}, {{{reg}}}]", f"[{inner}, {{{reg}, {reg}}}]",
             f"[{inner}+0x7fffffff]", f"[{inner}+0x80000000]", f"[{inner}+4294967295]", f"[{inner}+1.5]", f"[{inner}+WARP_SZ]", f"[{inner}+(1+3)]", f"[{inner}|4]",
             f"[{inner}.x]", f"[{inner}.b0]", f"[{inner}[2]]", f"{inner}[{inner}]", f"[{inner}].unified", f"[{inner}]+4", f"-[{inner}]", f"[{inner}]|%pred_1", f"[{inner}+{inner}]"]
        )  # fmt: skip
