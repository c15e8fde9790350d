"""Textures, surfaces and their handles."""
