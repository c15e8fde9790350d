"""The error of the sub-commands."""


class ToolError(Exception):
    """Wrong usage of a sub-command, or bad input; the text is the message."""
