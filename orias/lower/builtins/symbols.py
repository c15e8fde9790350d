"""The names that ptxas 13.0.88 gives to its subroutines where they are functions with sections of their own (``-g``, ``--cloning=no``).

Measured on sm_75 to sm_121a (``docs/facts/cubin.md``, "Subroutines with sections of their own").  The conventions of
ptxas's own subroutines are not those of Orias's: the names are for executables only, which no linker reads.
"""

from typing import Final

from orias.ptx.ast import Instr

_ROUNDINGS: Final = {"rn": "rn", "rz": "rz", "rm": "rd", "rp": "ru"}
_NAMES: Final[dict[str, str]] = {
    "div.f32": "__cuda_sm20_div_{rnd}{ftz}_f32",
    "div.rn.f32": "__cuda_sm3x_div_rn_noftz_f32_slowpath",
    "div.rn.ftz.f32": "__cuda_sm3x_div_rn_ftz_f32_slowpath",
    "div.f64": "__cuda_sm20_div_{rnd}_f64_v2",
    "div.rn.f64": "__cuda_sm20_div_rn_f64_full",
    "rcp.f32": "__cuda_sm20_rcp_{rnd}{ftz}_f32_slowpath",
    "rcp.f64": "__cuda_sm20_rcp_{rnd}_f64",
    "rcp.rn.f64": "__cuda_sm20_dblrcp_rn_slowpath_v3",
    "sqrt.f32": "__cuda_sm20_sqrt_{rnd}{ftz}_f32_slowpath",
    "sqrt.f64": "__cuda_sm20_dsqrt_{rnd}_f64",
    "sqrt.rn.f64": "__cuda_sm20_dsqrt_rn_f64_mediumpath_v1",
    "rsqrt.approx.f64": "__cuda_sm20_drsqrt_f64_slowpath_v2",
}
"""By the instruction with its rounding, or without it for all others."""

WITHOUT_BARRIERS: Final = frozenset(f"__cuda_sm20_{name}_{t}" for name in ("div", "rem") for t in ("s64", "u64"))
"""The subroutines in which ptxas has no convergence barriers."""


def float_symbol(i: Instr) -> str:
    """The subroutine of a division, root or reciprocal of floats."""
    sig = i.sig
    rnd, ftz, t = sig.mods.get("rnd", "approx"), "ftz" in sig.mods, sig.types[0]
    name = _NAMES.get(f"{sig.name}.{rnd}{'.ftz' * ftz}.{t}")
    if name is None:
        name = _NAMES[f"{sig.name}.{t}"]
    return name.format(rnd=_ROUNDINGS.get(rnd, rnd), ftz="_ftz" * ftz)


def integer_symbol(i: Instr) -> str:
    """The subroutine of a division or remainder of integers of 16 or 64 bits."""
    return f"__cuda_sm20_{i.sig.name}_{i.sig.types[0]}"
