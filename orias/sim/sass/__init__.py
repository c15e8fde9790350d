"""Builders for SASS instructions: scalar, memory, control flow and warp operations."""
