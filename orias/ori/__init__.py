"""Ori, the intermediate representation: SASS operations over virtual registers, in SSA form until shortly before register allocation."""
