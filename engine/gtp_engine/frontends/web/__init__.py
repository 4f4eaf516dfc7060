"""The game that is played in a browser: a page, and the server behind it."""

EVERYWHERE = ("0.0.0.0", "::")
"""Hosts that mean all addresses of this machine."""
