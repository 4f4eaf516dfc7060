"""Which stones are dead and whose the points are, when a game has been played out.

chains         the stones, chain by chain, and the groups that stand or fall together
expectation    the ownership that a net expects, of a position without its history
explanation    the set of dead stones that explains an expected ownership best
fights         groups in doubt, read out by playing the fight on with the search
judge          all of it: from a position and an evaluator to a status
marked_boards  finished boards whose dead stones people have marked, to measure all that on
status         what a set of dead stones makes of the board: territory, seki, score
"""
