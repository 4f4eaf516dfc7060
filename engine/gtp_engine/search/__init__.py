"""Monte-Carlo tree search with a policy prior."""
