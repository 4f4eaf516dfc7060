"""Games explained to their players: pages, records with comments, and figures.

`stages` decides which positions of a game are searched and how deep, `work` has them searched and
remembers what was found, `findings` makes mistakes, good moves and figures of it, `reasons` says
in words why a move was one, and `page`, `sgf_notes` and `overview` write it down.
"""
