"""Where the elements of interleaved tensor maps lie: no document says it, a GPU from sm_90 on does.

``python -m bench.gpu_interleave`` copies tiles through maps whose strides are all different, out of memory in which each 16 bytes hold their
own number, and prints for each case from which byte of global memory each 16 bytes of shared memory came (``-``: nothing arrived).  From
that follow what the dimensions of such a map count and which stride leads from one slice of channels to the next; the simulator
(``orias/sim/matrix/tensor_map.py``) refuses copies with these maps until somebody has run this.
"""

import sys
from typing import Any, Final, NamedTuple

import numpy as np

import orias
from tests.gpu.driver import Driver, DriverError, load_driver
from tests.gpu.image import GpuImage

_CHUNK: Final = 16
_CHUNKS: Final = 1 << 16
"""16-byte pieces of the source: their numbers fill 16 bits."""
_SHOWN: Final = 256
"""16-byte pieces of shared memory that a kernel shows."""
_NOTHING: Final = 0xFFFF
_LAYOUTS: Final = ("none", "16B", "32B")
_KERNEL: Final = """
.visible .entry k{n}(.param .align 64 .b8 map[128], .param .u64 out, {params}) {{
 .reg .b32 %r<12>; .reg .b64 %d<8>; .reg .pred %p<3>; .shared .align 1024 .b32 tile[{words}]; .shared .align 8 .b64 bar;
 mov.u32 %r0, %tid.x; mov.u32 %r1, tile; mov.u32 %r2, bar; mov.u32 %r3, %r0;
clear: shl.b32 %r4, %r3, 2; add.u32 %r4, %r4, %r1; st.shared.u32 [%r4], -1; add.u32 %r3, %r3, 32; setp.lt.u32 %p0, %r3, {words}; @%p0 bra clear;
 setp.ne.u32 %p1, %r0, 0; @%p1 bra shown;
 mbarrier.init.shared.b64 [%r2], 1; fence.proxy.async; mov.b64 %d0, map; cvta.param.u64 %d0, %d0; {coordinates}
 mbarrier.arrive.expect_tx.shared.b64 %d1, [%r2], {bytes};
 cp.async.bulk.tensor.{n}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%d0, {{{list}}}], [%r2];
 mov.u32 %r3, 0;
wait: mbarrier.test_wait.shared.b64 %p0, [%r2], %d1; add.u32 %r3, %r3, 1; setp.lt.and.u32 %p0, %r3, 20000, !%p0; @%p0 bra wait;
shown: bar.sync 0; ld.param.u64 %d2, [out]; mov.u32 %r3, %r0;
show: shl.b32 %r4, %r3, 2; cvt.u64.u32 %d3, %r4; add.u64 %d3, %d3, %d2; add.u32 %r4, %r4, %r1; ld.shared.u32 %r5, [%r4]; st.global.u32 [%d3], %r5;
 add.u32 %r3, %r3, 32; setp.lt.u32 %p0, %r3, {words}; @%p0 bra show; ret;
}}
"""
"""The wait ends by a count, as the bytes of a tile are a part of the question."""


class Case(NamedTuple):
    """A map of 16-bit elements and a tile of it."""

    layout: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    at: tuple[int, ...]
    steps: tuple[int, ...] = ()


def cases() -> list[Case]:
    """Ranks 3 to 5, both layouts; tiles that begin inside a slice, in another one, with steps."""
    out: list[Case] = []
    for layout in (0, 1, 2):
        slice_ = 16 if layout == 2 else 8
        for rank in (3, 4, 5):
            dims = (4 * slice_, 8, 4, 2, 2)[:rank]
            strides = (512, 8192, 65536, 262144)[: rank - 1]
            for inner in (slice_, 2 * slice_):
                box = (inner, 2, 2, 1, 1)[:rank]
                zero = (0,) * rank
                out += [
                    Case(layout, dims, strides, box, zero),
                    Case(layout, dims, strides, box, (slice_, 1, *zero[2:])),
                ]
                if layout:
                    out += [Case(layout, dims, strides, box, (1, 0, *zero[2:]))]
                    out += [Case(layout, dims, strides, box, zero, (2, *[1] * (rank - 1)))]
    return out


def cubin(arch: str) -> bytes:
    """A kernel for each rank."""
    text = f".version 8.6\n.target {arch}\n.address_size 64\n"
    for n in (3, 4, 5):
        names = [f"%r{6 + k}" for k in range(n)]
        text += _KERNEL.format(
            n=n, params=", ".join(f".param .u32 c{k}" for k in range(n)), words=_SHOWN * _CHUNK // 4, bytes=_SHOWN * _CHUNK,
            coordinates=" ".join(f"ld.param.u32 {r}, [c{k}];" for k, r in enumerate(names)), list=", ".join(names),
        )  # fmt: skip
    return orias.compile(text, arch=arch).data


def origins(driver: Driver, image: GpuImage, case: Case) -> list[int]:
    """For each 16 bytes of shared memory the byte of the source that they came from; -1 where nothing arrived."""
    source = np.repeat(np.arange(_CHUNKS, dtype=np.uint16), _CHUNK // 2)
    place = image.arena.allocate(source.nbytes)
    image.arena.write(place, source)
    map_: Any = driver.tensormap("u16", place, case.dims, case.strides, case.box, case.steps, interleave=case.layout)
    found = np.zeros(_SHOWN * _CHUNK // 2, np.uint16)
    image.launch(f"k{len(case.dims)}", 1, 32, [map_, found, *case.at])
    return [-1 if x == _NOTHING else int(x) * _CHUNK for x in found[:: _CHUNK // 2]]


def main() -> int:
    """The command."""
    driver = load_driver()
    driver.seconds = 5.0
    image = GpuImage(driver, cubin(driver.arch))
    for case in cases():
        print(
            f"layout {_LAYOUTS[case.layout]}, sizes {case.dims}, strides {case.strides}, box {case.box}, at {case.at}, steps {case.steps}"
        )
        try:
            found = origins(driver, image, case)
        except DriverError as e:
            print(f"    {e}")
            image = GpuImage(driver, cubin(driver.arch))
            continue
        while found and found[-1] < 0:
            found.pop()
        print("    " + " ".join("-" if x < 0 else str(x) for x in found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
