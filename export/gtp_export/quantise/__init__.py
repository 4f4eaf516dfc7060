"""Nets in lower precision: int8 for processors, fp16 for GPUs, and what that costs."""
