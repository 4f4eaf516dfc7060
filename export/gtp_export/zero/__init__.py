"""Learning from nothing: play, train and judge in a loop, on one machine and on many."""
