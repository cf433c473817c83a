"""Tests of the commands, their flags, variables, screens and exit codes."""
