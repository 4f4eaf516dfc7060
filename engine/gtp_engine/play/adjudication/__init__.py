"""Which stones are dead and whose the points are, when a game has been played out.

chains       the stones, chain by chain, and the groups that stand or fall together
explanation  the ownership that a net expects, and the dead stones that explain it best
fights       groups in doubt, read out by playing the fight on with the search
status       all of it: from a position and an evaluator to territory, seki, score
"""
