"""Audit of finished cubins, of any compiler: does the code do what its PTX says, and if not, which instruction is wrong?"""
