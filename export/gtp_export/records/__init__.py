"""Game records as flat arrays, and training samples drawn from them; none of it needs torch."""
