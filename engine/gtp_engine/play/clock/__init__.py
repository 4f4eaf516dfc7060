"""Clocks: how time is counted, and how much of it a move may use.

A time system (`absolute`, `canadian`, `byoyomi`, `fischer`, `simple`, `unlimited`; one a file)
says what a player begins with and what is left after a move, and puts what is left into the terms
of a `Budget`. `planner` turns a budget into the time for one move, by pure arithmetic that knows
nothing about systems. `notation` reads how clients spell the settings; only `clock.Clock` keeps
state. All times are seconds. Only the standard library is imported here.
"""
