"""Textures, surfaces and samplers, and the instructions that read them."""
