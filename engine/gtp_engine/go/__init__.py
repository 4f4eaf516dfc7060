"""The game itself: board, rules, positions, scoring, SGF."""
