"""The error of the sub-commands."""


class ToolError(Exception):
    """Wrong use of a sub-command, or an input it cannot take; the text is the message."""
