"""What the outside world talks to: GTP, Gomocup, JSON analysis, the terminal, the browser."""
