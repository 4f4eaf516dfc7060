"""Five in a row in the protocol of Gomocup and Piskvork."""
