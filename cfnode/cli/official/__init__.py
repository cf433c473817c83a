"""The official node's command line: its flags and subcommands as data, and the grammar of its arguments."""
