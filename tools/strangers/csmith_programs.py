"""Programs of Csmith: as they are, by one thread, and changed to programs of many threads.

For many threads the global variables of a program become members of a structure, one for each thread, with initial integers that
depend on the thread, so that threads take their own ways.  Between two runs of the program threads exchange results through shared memory,
shuffles and votes.  The host does the same one thread after the other.
"""

import random
import re
import subprocess
from tempfile import TemporaryDirectory
from typing import Final

THREADS: Final = 48
"""A warp and a half."""
_NUMBER_OPTIONS: Final = (
    ("--max-funcs", 1, 6),
    ("--max-block-depth", 2, 4),
    ("--max-expr-complexity", 2, 8),
    ("--max-block-size", 2, 4),
)
_SWITCHES: Final = ("volatiles", "bitfields", "float", "jumps", "unions", "builtins", "arrays", "longlong", "math64")

KERNEL: Final = """
#ifdef DEVICE
#ifdef __CUDACC__
extern "C" __global__
#else
__attribute__((nvptx_kernel))
#endif
void k(uint64_t *out) { program(1, NULL); *out = CHECKSUM; }
#else
#undef printf
#ifdef __cplusplus
extern "C"
#endif
int printf(const char *, ...);
int main(void) { program(1, NULL); printf("%lx\\n", CHECKSUM); return 0; }
#endif
"""

THREAD_KERNEL: Final = """
#ifdef DEVICE
static __attribute__((address_space(3))) uint64_t exchanged[THREADS];
__attribute__((nvptx_kernel)) void k(uint64_t *out)
{
    unsigned t = __nvvm_read_ptx_sreg_tid_x();
    struct G s = INITIAL;
    struct G *S = &s;
    S->sum = 14695981039346656037u;
    S->counter = out + THREADS;
    vary(S, t);
    for (int round = 0; round < 2; round++) {
        program(S);
        uint64_t mine = S->sum;
        exchanged[t] = mine;
        __nvvm_bar_sync(0);
        uint64_t got = exchanged[(t + 5) % THREADS];
        __nvvm_bar_sync(0);
        unsigned low = (unsigned)mine;
        unsigned members = t < 32 ? 0xffffffffu : 0xffffu;
        got ^= (unsigned)__nvvm_shfl_sync_bfly_i32(members, (int)low, 3, 31);
        got += __builtin_popcount(__nvvm_vote_ballot_sync(members, (low & 4) != 0));
        S->sum = mine ^ got;
        vary(S, (unsigned)got & 0xff);
    }
    out[t] = S->sum;
}
#else
#undef printf
int printf(const char *, ...);
static struct G threads[THREADS];
int main(void)
{
    static uint64_t mine[THREADS], counter;
    for (unsigned t = 0; t < THREADS; t++) {
        struct G s = INITIAL_OF(threads[t]);
        __builtin_memcpy(&threads[t], &s, sizeof s);
        struct G *S = &threads[t];
        S->sum = 14695981039346656037u;
        S->counter = &counter;
        vary(S, t);
    }
    for (int round = 0; round < 2; round++) {
        for (unsigned t = 0; t < THREADS; t++) {
            program(&threads[t]);
            mine[t] = threads[t].sum;
        }
        for (unsigned t = 0; t < THREADS; t++) {
            uint64_t got = mine[(t + 5) % THREADS];
            got ^= (unsigned)mine[t ^ 3];
            unsigned first = t & ~31u, end = first + 32 < THREADS ? first + 32 : THREADS;
            for (unsigned u = first; u < end; u++)
                got += (mine[u] & 4) != 0;
            threads[t].sum = mine[t] ^ got;
            vary(&threads[t], (unsigned)got & 0xff);
        }
    }
    for (unsigned t = 0; t < THREADS; t++)
        printf("%lx ", threads[t].sum);
    printf("%lx\\n", counter);
    return 0;
}
#endif
"""
COUNTING: Final = """
#ifdef DEVICE
#define ADD_TO_ALL(p, v) __nvvm_atom_add_gen_ll((long long *)(p), (long long)(v))
#else
#define ADD_TO_ALL(p, v) (*(p) += (v))
#endif
"""


def generate(seed: int, small: bool, cuda: bool = False) -> str | None:
    """A program of Csmith with options that the seed selects, `cuda`: C++ for nvcc; None if Csmith fails or takes long."""
    r = random.Random(seed)
    # Members of packed structures may be read through pointers that promise alignment: a fault of such programs.
    options = ["--seed", str(seed), "--no-packed-struct"]
    for name, low, high in _NUMBER_OPTIONS:
        options += [name, str(r.randint(low, high if not small else (low + high) // 2))]
    for name in _SWITCHES:
        on = r.random() < (0.2 if name == "float" else 0.6)
        if cuda and name in ("unions", "bitfields"):
            on = False
        options.append(f"--{name}" if on and name != "builtins" else f"--no-{name}")
    if cuda:
        # The operators of its structures are for the host.
        options += ["--lang-cpp", "--no-structs"]
    try:
        # Csmith leaves a file where it runs.
        with TemporaryDirectory() as folder:
            done = subprocess.run(
                ["csmith", *options], capture_output=True, text=True, timeout=10, check=False, cwd=folder
            )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 and len(done.stdout) < (60_000 if small else 120_000) else None


_GLOBAL: Final = re.compile(r"^static (?=[^=(]*\bg_\d+)", re.MULTILINE)
"""A variable that only its own file sees."""


def single(text: str, cuda: bool = False) -> str:
    """The program for one thread; `cuda`: its functions and variables are the device's.

    Others could change its variables, so that no front end takes their initial values for constants and the program for its result.
    """
    text = text.replace("int main (int argc, char* argv[])", "static int program(int argc, char **argv)")
    if cuda:
        text = re.sub(r"^static (?!long __undefined)", "static DEV ", text, flags=re.MULTILINE)
    else:
        text = _GLOBAL.sub("", text)
    return text + KERNEL


_VARIABLE: Final = re.compile(
    r"^static (?P<type>[^=]*?)\b(?P<name>g_\d+)(?P<dims>(?:\[\d+\])*) = (?P<value>.*?);(?:/\*.*\*/)?$", re.MULTILINE
)
_PLAIN: Final = re.compile(r"^(?:u?int\d+_t|volatile| )+$")


def threaded(text: str) -> str | None:
    """The program for many threads; None if its text has a form that is not known here."""
    head, _, rest = text.partition("/* --- GLOBAL VARIABLES --- */")
    variables, _, rest = rest.partition("/* --- FORWARD DECLARATIONS --- */")
    code, _, main = rest.partition("int main (int argc, char* argv[])\n{")
    if not main or "g_" not in variables:
        return None
    members, values, defines, changed = [], [], [], []
    for line in variables.splitlines():
        if not line.strip() or line.startswith("/*"):
            continue
        m = _VARIABLE.match(line)
        if m is None:
            return None
        new = "m" + m["name"][1:]
        members.append(f"{m['type']}{new}{m['dims']};")
        values.append(f".{new} = {re.sub(r'&g_', r'&SELF.m_', m['value'])}")
        defines.append(f"#define {m['name']} (S->{new})")
        if not m["dims"] and _PLAIN.match(m["type"]):
            changed.append(f"S->{new} ^= (t * {2 * len(changed) + 1}u) & 63u;")
    code = re.sub(r"^(static .*func_\d+)\(void\)", r"\1(struct G *S)", code, flags=re.MULTILINE)
    code = re.sub(r"^(static .*func_\d+)\((?!struct G)", r"\1(struct G *S, ", code, flags=re.MULTILINE)
    lines = []
    for line in code.splitlines():
        if not line.startswith("static "):
            line = re.sub(r"\b(func_\d+)\(\)", r"\1(S)", line)
            line = re.sub(r"\b(func_\d+)\((?!S\))", r"\1(S, ", line)
        lines.append(line)
    body = main[: main.rindex("return 0;")].replace("func_1()", "func_1(S)")
    body = re.sub(r"if \(argc == 2.*\n", "", body)
    initial = "{" + ", ".join(values) + "}"
    return "\n".join([
        f"#define THREADS {THREADS}u", "#define CHECKSUM (S->sum)", COUNTING, head,
        "struct G { uint64_t sum; uint64_t *counter;", *members, "};",
        f"#define INITIAL {initial.replace('SELF', 's')}", f"#define INITIAL_OF(SELF) {initial}",
        "static void vary(struct G *S, unsigned t) {", *changed, "}",
        *defines, *lines,
        "static void program(struct G *S)\n{", body, "ADD_TO_ALL(S->counter, S->sum & 0xffff);", "}",
        *(f"#undef {d.split()[1]}" for d in defines), THREAD_KERNEL,
    ])  # fmt: skip
