"""Judging positions by playing them out, alone or beside a net."""
