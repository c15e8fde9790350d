"""Runs SASS on the CPU."""
