"""Instruction forms: matrix instructions.  Shapes and types of mma and wmma are checked by :mod:`orias.ptx.matrix`.

Row syntax: see :mod:`orias.ptx.table`.  Facts: asked of ptxas 13.0.88.
"""

from typing import Final

_SHARED: Final = "shared/shared::cta@7.8/30/shared::cluster@7.8/90"

FORMS: Final[dict[str, str]] = {
    "ldmatrix": f"b16 ; X,M ; !sync !aligned !m8n8 !x1/x2/x4 trans {_SHARED} ; 6.5/75"
    f" | b8 ; X,M ; !sync !aligned m16n16 x1/x2 trans {_SHARED} ; 8.6/100a"
    f" | b8x16.b4x16_p64 b8x16.b6x16_p32 ; X,M ; !sync !aligned m8n16/m16n16 x1/x2/x4 trans {_SHARED} ; 8.6/100a",
    "stmatrix": f"b16 ; M,X ; !sync !aligned !m8n8 !x1/x2/x4 trans {_SHARED} ; 7.8/90 | b8 ; M,X ; !sync !aligned m16n8 x1/x2/x4 trans {_SHARED} ; 8.6/100a",
    "movmatrix": "b16 ; =b32,b32 ; !sync !aligned !m8n8 !trans ; 7.8/75",
    "mma": "* ; X* ; *",
    "wmma.mma": "* ; X* ; * ; 6.0/70",
    "wmma.load.a": "* ; X,M,u32? ; * ; 6.0/70",
    "wmma.load.b": "* ; X,M,u32? ; * ; 6.0/70",
    "wmma.load.c": "* ; X,M,u32? ; * ; 6.0/70",
    "wmma.store.d": "* ; M,X,u32? ; * ; 6.0/70",
    "wgmma.mma_async": "* ; X* ; * ; 8.0/90a",
    "wgmma.fence": "- ; ; !sync !aligned ; 8.0/90a",
    "wgmma.commit_group": "- ; ; !sync !aligned ; 8.0/90a",
    "wgmma.wait_group": "- ; i ; !sync !aligned ; 8.0/90a",
    **dict.fromkeys(("tcgen05.alloc", "tcgen05.dealloc", "tcgen05.relinquish_alloc_permit", "tcgen05.ld", "tcgen05.st", "tcgen05.wait", "tcgen05.wait::ld", "tcgen05.wait::st", "tcgen05.cp", "tcgen05.shift", "tcgen05.mma", "tcgen05.mma.ws", "tcgen05.commit", "tcgen05.fence::before_thread_sync", "tcgen05.fence::after_thread_sync"), "* ; X* ; * ; 8.6/100a"),
}  # fmt: skip
