"""Nets that learn, what they learn from, and the loop; all but `averaging` needs torch."""
