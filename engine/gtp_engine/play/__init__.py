"""A game in progress: search, clock, resigning, passing, dead stones."""
