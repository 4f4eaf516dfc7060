"""What plays games to measure: matches, self-play, regression tests, and what they prove."""
