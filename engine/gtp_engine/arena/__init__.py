"""What measures: matches, self-play, regression tests, marked boards, and what they prove."""
