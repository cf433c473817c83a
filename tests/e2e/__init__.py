"""The node as a person meets it: a process, its flags, its port, its files."""
