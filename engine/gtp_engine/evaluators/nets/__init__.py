"""A net's file: what it says of itself, where it is found, how it is opened and checked."""
