"""What nets look like: shapes, named presets, and their graphs; none of it needs torch."""
