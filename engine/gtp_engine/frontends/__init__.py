"""What the outside world talks to: GTP, JSON analysis, the terminal, the browser."""
