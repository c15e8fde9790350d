"""Programs of a few asynchronous instructions: a kernel body, buffers, and what must be in the output."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from orias.ptx.parser import parse
from orias.sim.ptx import PtxImage
from tests.device import load, tensormap
from tests.forms.run import our_cubin, ptxas_cubin

Words = npt.NDArray[np.uint32]
LATER = ("sm_100a", "sm_103a", "sm_110a", "sm_120a")
"""A target of each instruction set after sm_90's."""
OUT = 512
"""Words of the output."""
IN = 4096
"""Words of the input."""


class Program:
    """``body`` uses %out and %in (u64), %t, %warp, %r<40>, %rd<40>, %f<40>, %h<8>, %p<8>, shared ``smem`` (16 KiB, aligned to 1024) and ``mb`` (4
    objects), and the tensor map parameter ``tm`` if ``map`` is given.  ``want(input)`` gives the output's words; words never written are 0."""

    def __init__(
        self,
        name: str,
        body: str,
        want: Callable[[Words], Sequence[int] | Words],
        sm: int = 90,
        block: int = 32,
        grid: int = 1,
        cluster: int = 0,
        map_: Callable[[int], bytes] | None = None,
        suffix: str = "",
        source: Words | None = None,
        unjudged: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.body = body
        self.want = want
        self.sm = sm
        self.block = block
        self.grid = grid
        self.cluster = cluster
        self.map = map_
        self.suffix = suffix
        self.source = source
        self.unjudged = unjudged
        """Targets for which ptxas's code is beyond the simulator, or wrong."""
        self.families: tuple[str, ...] = ()
        """SMs of the targets, with a suffix, that have it; empty: all from ``sm`` on."""
        self.resident = 0
        """Clusters that run at a time; 0: all."""
        self.max_steps = 400_000

    def __repr__(self) -> str:
        return self.name

    def fits(self, arch: str) -> bool:
        """Whether a target has what the program needs."""
        number = arch[3:].rstrip("af")
        if self.families:
            return number in self.families and not arch[-1].isdigit()
        return self.sm <= int(number)

    def input(self) -> Words:
        """Words of the input: given ones, or numbers that differ."""
        if self.source is not None:
            return self.source.copy()
        return (np.arange(IN, dtype=np.uint32) * np.uint32(2654435761) >> np.uint32(7)).astype(np.uint32)

    def text(self, arch: str) -> str:
        """The module, its kernel named k."""
        early = self.sm < 100 and int(arch[3:].rstrip("af")) < 103 and arch[-1] != "f"
        version = "8.7" if early else "9.0"
        return f".version {version}\n.target {arch}\n.address_size 64\n{self.kernel('k')}"

    def kernel(self, name: str) -> str:
        """The kernel's PTX."""
        cluster = f".reqnctapercluster {self.cluster}, 1, 1" if self.cluster else ""
        return f""".visible .entry {name}(.param .u64 pout, .param .u64 pin, .param .align 64 .b8 tm[128]) .maxntid {self.block}, 1, 1 {cluster} {{
.reg .b16 %h<8>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .f32 %f<40>; .reg .f64 %d<4>; .reg .pred %p<8>;
.reg .b64 %out, %in, %tm; .reg .b32 %t, %warp, %cta;
.shared .align 1024 .b8 smem[16384];
.shared .align 8 .b64 mb[4];
ld.param.u64 %out, [pout]; ld.param.u64 %in, [pin];
cvta.to.global.u64 %out, %out; cvta.to.global.u64 %in, %in;
mov.u32 %t, %tid.x; shr.u32 %warp, %t, 5; mov.u32 %cta, %ctaid.x;
mov.b64 %tm, tm; cvta.param.u64 %tm, %tm;
{self.body}
ret;
}}
"""

    def run(self, compiler: str, arch: str, opt: int) -> str:
        """Compile (``ptx``: do not) and run; what is wrong, or nothing."""
        text = self.text(arch)
        image: Any
        if compiler == "ptx":
            image = PtxImage(parse(text, "program.ptx"), arch)
        else:
            image = load(our_cubin(text, arch, opt) if compiler == "orias" else ptxas_cubin(text, arch, opt))
        bad = self.check(image)
        return bad and f"{self.name} {compiler} {arch} -O{opt}: {bad}"

    def check(self, image: Any, kernel: str = "k") -> str:
        """Run a kernel of a loaded image; what is wrong, or nothing."""
        source, out = self.input(), np.zeros(OUT, np.uint32)
        want = np.zeros(OUT, np.uint32)
        expected = np.asarray(self.want(source.copy()), np.uint32)
        want[: len(expected)] = expected
        at = image.arena.allocate(source.nbytes, "input")
        image.arena.write(at, source)
        raw = self.map(at) if self.map is not None else bytes(128)
        options: dict[str, Any] = {"cluster": (self.cluster, 1, 1)} if self.cluster else {}
        if self.resident:
            options["resident"] = self.resident
        image.launch(kernel, self.grid, self.block, [out, at, raw], max_steps=self.max_steps, **options)
        bad = np.flatnonzero(out != want)
        if not len(bad):
            return ""
        return f"{len(bad)} wrong words, the first is {bad[0]}: {int(out[bad[0]]):#x} for {int(want[bad[0]]):#x}"


def wait(parity: str | int = 0, at: str = "mb", label: str = "W") -> str:
    """A loop that waits for a phase (from sm_90 on)."""
    return f"{label}: mbarrier.try_wait.parity.shared.b64 %p7, [{at}], {parity}; @!%p7 bra {label};\n"


def init(count: int = 1, at: str = "mb") -> str:
    """Thread 0 makes an object; all see it."""
    return f"setp.eq.u32 %p6, %t, 0; @%p6 mbarrier.init.shared.b64 [{at}], {count}; bar.sync 0;\n"


def copy_out(words: int, start: int = 0) -> str:
    """Thread 0 stores words of shared memory in order; loops."""
    return f"""setp.ne.u32 %p5, %t, 0; @%p5 bra SKIP;
mov.u32 %r30, 0; mov.u32 %r31, smem; add.u32 %r31, %r31, {start}; mov.u64 %rd30, %out;
COPY: ld.shared.u32 %r32, [%r31]; st.global.u32 [%rd30], %r32; add.u32 %r31, %r31, 4; add.u64 %rd30, %rd30, 4; add.u32 %r30, %r30, 1;
setp.lt.u32 %p5, %r30, {words}; @%p5 bra COPY;
SKIP:
"""


__all__ = ["IN", "OUT", "Program", "Words", "copy_out", "init", "tensormap", "wait"]
