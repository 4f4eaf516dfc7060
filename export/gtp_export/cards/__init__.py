"""Cards: what a net is, how it was made and what it can do, in Markdown."""
