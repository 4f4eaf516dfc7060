"""Five in a row: boards, rules with renju's forbidden points, and games."""
