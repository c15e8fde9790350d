"""Orias: PTX text in, loadable cubin out."""
