"""Ori, the intermediate representation: SASS operations over virtual registers, in SSA until late."""
