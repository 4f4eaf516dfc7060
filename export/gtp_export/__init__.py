"""Everything that makes or converts a net."""
