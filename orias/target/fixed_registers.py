"""Special registers that keep their value while a thread runs."""

from typing import Final

FIXED_SPECIALS: Final = ("SR_TID.", "SR_CTAID.", "SR_LANEID", "SR_CgaCtaId")
"""Prefixes of their names; a second read of such a register gives the same value."""
