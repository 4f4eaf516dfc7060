"""Clocks: how time is counted, and how much of it a move may use.

systems   ways of counting time, each with what is left as a `Budget`
planner   from a budget to the time for one move, by pure arithmetic that knows nothing of systems
notation  how clients spell the settings
clock     what both players have left; only this one keeps state

All times are seconds. Only the standard library is imported here.
"""
