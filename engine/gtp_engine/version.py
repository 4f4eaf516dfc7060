"""The version, apart from the package for its parts to name; the wheel takes it from here."""

__version__ = "1.15.0"
"""Lizzie reads it as A.B and wants the integer B to be 15 or more: so 1.15 is the first of 1."""
