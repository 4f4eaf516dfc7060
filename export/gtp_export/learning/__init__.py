"""Everything that needs torch: nets that learn, what they learn from, and the loop."""
