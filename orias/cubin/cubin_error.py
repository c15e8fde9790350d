"""The error for malformed cubins and for contents that a cubin cannot hold."""


class CubinError(Exception):
    """The bytes are not a cubin that can be read, or the module cannot be written; the text says what and where."""
