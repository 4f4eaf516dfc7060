"""`gtp-engine` and its subcommands."""
