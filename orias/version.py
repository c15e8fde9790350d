"""The version of the package, for its metadata and the notes of a cubin."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

VERSION: "Final[str]" = "0.2.1"
