"""Instruction forms: matrix instructions.  Shapes and types of mma and wmma are checked by :mod:`orias.ptx.matrix` and
:mod:`orias.ptx.wmma`.

Row syntax: see :mod:`orias.ptx.table`.  Facts: asked of ptxas 13.0.88.
"""

from typing import Final

_SHARED: Final = "shared/shared::cta/shared::cluster"

FORMS: Final[dict[str, str]] = {
    "ldmatrix": f"b16 ; X,M ; !sync !aligned !m8n8 !x1/x2/x4 trans {_SHARED} ; 6.5/75"
    f" | b8 ; X,M ; !sync !aligned m16n16 x1/x2 trans {_SHARED} ; F75 Fv6.5, n100a Fv8.6 : ldmatrix.b8"
    f" | b8x16.b4x16_p64 b8x16.b6x16_p32 ; X,M ; !sync !aligned m8n16/m16n16 x1/x2/x4 trans {_SHARED} ; F75 Fv6.5, n100a Fv8.6 : ldmatrix with format conversion",
    "stmatrix": f"b16 ; M,X ; !sync !aligned !m8n8 !x1/x2/x4 trans {_SHARED} ; 7.8/90 | b8 ; M,X ; !sync !aligned m16n8 x1/x2/x4 trans {_SHARED} ; F90 Fv7.8, n100a Fv8.6 : stmatrix.b8",
    "movmatrix": "b16 ; =b32,b32 ; !sync !aligned !m8n8 !trans ; 7.8/75",
    "mma": "* ; X* ; *",
    "wmma.mma": "* ; X,X,X,X ; *",
    "wmma.load.a": "* ; X,M,u32? ; *",
    "wmma.load.b": "* ; X,M,u32? ; *",
    "wmma.load.c": "* ; X,M,u32? ; *",
    "wmma.store.d": "* ; M,X,u32? ; *",
    "wgmma.mma_async": "* ; X* ; * ; Fv8.0 N90a",
    "wgmma.fence": "- ; ; !sync aligned ; Fv8.0 : WGMMA, N90a",
    "wgmma.commit_group": "- ; ; !sync aligned ; Fv8.0 : WGMMA, N90a",
    "wgmma.wait_group": "- ; i ; !sync aligned ; Fv8.0 : WGMMA, N90a",
    **dict.fromkeys(("tcgen05.alloc", "tcgen05.dealloc", "tcgen05.relinquish_alloc_permit", "tcgen05.ld", "tcgen05.ld.red", "tcgen05.st", "tcgen05.wait", "tcgen05.wait::ld", "tcgen05.wait::st", "tcgen05.cp", "tcgen05.shift", "tcgen05.mma", "tcgen05.mma.ws", "tcgen05.commit", "tcgen05.fence::before_thread_sync", "tcgen05.fence::after_thread_sync"), "* ; X* ; * ; Fv8.6 N100a"),
}  # fmt: skip
