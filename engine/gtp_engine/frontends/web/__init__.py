"""What browsers show: a board that knows the rules, the looks of all pages, and the game served.

Scripts and styles are put into the pages themselves, which load nothing from anywhere.
"""

EVERYWHERE = ("0.0.0.0", "::")
"""Hosts that mean all addresses of this machine."""
