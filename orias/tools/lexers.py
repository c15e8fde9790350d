"""Pygments lexers for SASS listings and PTX (needs the package Pygments: ``pip install 'orias[color]'``)."""

from typing import ClassVar, Final

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

_FLOW: Final = (
    "BRA", "BRX", "BRXU", "BREAK", "BSSY", "BSYNC", "CALL", "EXIT", "JMP", "JMX", "JMXU", "KILL", "RET", "RPCMOV", "RTT", "WARPSYNC", "YIELD",
)  # fmt: skip


class SassLexer(RegexLexer):  # type: ignore[misc]
    """Listings of ``orias dis`` and ``nvdisasm``."""

    name = "SASS"
    aliases: ClassVar[list[str]] = ["sass", "nvsass"]
    filenames: ClassVar[list[str]] = ["*.sass"]
    url = "https://docs.nvidia.com/cuda/cuda-binary-utilities/"

    tokens: ClassVar[dict[str, list[object]]] = {
        "root": [
            (r"^([ \t]*)([.$\w]+)(:)", bygroups(Whitespace, Name.Label, Punctuation)),
            (r"^([ \t]*)(\.[A-Za-z_]\w*)", bygroups(Whitespace, Keyword.Namespace), "directive"),
            (r"\n", Whitespace),
            (r"[ \t]+", Whitespace),
            (r"//.*?$", Comment.Single),
            (r"/\*[0-9a-f]{4,}\*/", Comment.Special),
            (r"/\*.*?\*/", Comment.Multiline),
            (r'\(\*"', Comment.Preproc, "attribute"),
            (r"(@)(!?)(U?P[T\d])", bygroups(Operator, Operator, Name.Variable.Class)),
            (words(_FLOW, suffix=r"(?:\.[A-Za-z0-9_]+)*(?=[\s;])"), Keyword.Reserved, "operands"),
            (r"([A-Z][A-Z0-9_]*)((?:\.[A-Za-z0-9_?]+)*)", bygroups(Keyword, Name.Decorator), "operands"),
            (r";", Punctuation),
            (r".", Text),
        ],
        "attribute": [
            (r'"\*\)', Comment.Preproc, "#pop"),
            (r'[^"]+|"', Comment.Preproc),
        ],
        "directive": [
            (r"$", Text, "#pop"),
            (r"//.*?$", Comment.Single),
            (r'"(?:[^"\\]|\\.)*"', String),
            (r"-?0x[0-9a-fA-F]+\b|-?\b\d+\b", Number),
            (r"@\w+", Keyword.Type),
            (r"[.$\w]+", Name),
            (r"[ \t]+", Whitespace),
            (r"[^\s]", Punctuation),
        ],
        "operands": [
            (r";", Punctuation, "#pop"),
            (r"\n", Whitespace, "#pop"),
            (r"[ \t]+", Whitespace),
            (r"/\*.*?\*/", Comment.Multiline),
            (r'\(\*"', Comment.Preproc, "attribute"),
            (r"`\([^)]*\)", Name.Label),
            (r"\b(?:UR(?:\d+|Z))\b", Name.Variable.Global),
            (r"\b(?:R(?:\d+|Z))\b", Name.Variable),
            (r"\b(?:UP[T\d]|P[T\d])\b", Name.Variable.Class),
            (r"\b(?:S?B\d+)\b", Name.Variable.Magic),
            (r"\bSR_[A-Z0-9_.]+", Name.Constant),
            (r"\b(?:desc|cx?|gdesc|idesc|tmem)(?=\[)", Keyword.Type),
            (r"[+-]?0x[0-9a-f]+", Number.Hex),
            (r"[+-](?:INF|QNAN|SNAN)\b", Number.Float),
            (r"-?\b\d+\.\d+(?:e[+-]?\d+)?|-?\b\d+e[+-]\d+", Number.Float),
            (r"-?\b\d+\b", Number.Integer),
            (r"\.[A-Za-z0-9_?]+", Name.Decorator),
            (r"[!~|+*-]", Operator),
            (r"[\[\](),{}]", Punctuation),
            (r"[.$\w]+", Name),
            (r".", Text),
        ],
    }


_DIRECTIVES: Final = (
    "version", "target", "address_size", "file", "loc", "section", "pragma", "visible", "extern", "weak", "common", "entry", "func", "alias",
    "callprototype", "calltargets", "branchtargets", "maxnreg", "maxntid", "reqntid", "minnctapersm", "maxnctapersm", "noreturn", "reqnctapercluster",
    "explicitcluster", "maxclusterrank", "blocksareclusters", "abi_preserve", "abi_preserve_control", "align", "ptr", "reg", "sreg", "const", "global", "local",
    "param", "shared", "tex", "unique", "managed", "attribute", "unified", "languages",
)  # fmt: skip
_TYPES: Final = (
    "b1", "b8", "b16", "b32", "b64", "b128", "u2", "u4", "u8", "u16", "u32", "u64", "s2", "s4", "s8", "s16", "s32", "s64", "f16", "f16x2", "f32", "f32x2", "f64",
    "bf16", "bf16x2", "tf32", "e4m3", "e5m2", "e4m3x2", "e5m2x2", "e2m1", "e2m3", "e3m2", "ue8m0", "pred", "texref", "samplerref", "surfref", "v2", "v4", "v8",
)  # fmt: skip


class PtxLexer(RegexLexer):  # type: ignore[misc]
    """PTX modules."""

    name = "PTX"
    aliases: ClassVar[list[str]] = ["ptx"]
    filenames: ClassVar[list[str]] = ["*.ptx"]
    mimetypes: ClassVar[list[str]] = ["text/x-ptx"]
    url = "https://docs.nvidia.com/cuda/parallel-thread-execution/"

    tokens: ClassVar[dict[str, list[object]]] = {
        "root": [
            (r"\s+", Whitespace),
            (r"//.*?$", Comment.Single),
            (r"/\*", Comment.Multiline, "comment"),
            (r'"(?:[^"\\]|\\.)*"', String),
            (r"(@)(!?)(%?[\w$]+)", bygroups(Operator, Operator, Name.Variable.Class)),
            (r"([A-Za-z_$][\w$]*)(\s*)(:)(?!:)", bygroups(Name.Label, Whitespace, Punctuation)),
            (words(_DIRECTIVES, prefix=r"\.", suffix=r"\b(?!::)"), Keyword.Declaration),
            (words(_TYPES, prefix=r"\.", suffix=r"\b"), Keyword.Type),
            (r"\.[A-Za-z_][\w]*(?:::[A-Za-z_]\w*)*", Name.Decorator),
            (r"%(?:tid|ntid|ctaid|nctaid|laneid|warpid|nwarpid|smid|nsmid|gridid|clock\w*|lanemask_\w+|pm\d+\w*|envreg\d+|globaltimer\w*|"
             r"cluster\w*|is_explicit_cluster|dynamic_smem_size|total_smem_size|aggr_smem_size|current_graph_exec|reserved_smem\w*)\b(?:\.[xyzw])?",
             Name.Builtin),
            (r"%[\w$]+", Name.Variable),
            (r"0[fF][0-9a-fA-F]{8}\b|0[dD][0-9a-fA-F]{16}\b", Number.Float),
            (r"0[xX][0-9a-fA-F]+U?\b", Number.Hex),
            (r"0[bB][01]+U?\b", Number.Bin),
            (r"\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+", Number.Float),
            (r"\d+U?\b", Number.Integer),
            (r"([a-z][a-z0-9_]*)(?=(?:\.|\s|;))", Keyword),
            (r"[A-Za-z_$][\w$]*", Name),
            (r"[-+*/%!~&|^<>=?]", Operator),
            (r"[\[\](){},;:.]", Punctuation),
            (r".", Text),
        ],
        "comment": [
            (r"\*/", Comment.Multiline, "#pop"),
            (r"[^*]+|\*", Comment.Multiline),
        ],
    }  # fmt: skip
