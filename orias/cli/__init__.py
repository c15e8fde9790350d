"""Command lines: options, messages, exit codes."""
