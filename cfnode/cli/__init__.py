"""What a person types: commands, output, exit codes."""
