"""Handlers of control flow: branches, calls, the ends of functions, the stack."""
