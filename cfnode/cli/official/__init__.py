"""The official node's command line: its flags and subcommands as data, and how it reads arguments."""
