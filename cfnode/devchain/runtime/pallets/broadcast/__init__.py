"""What is signed and sent to the foreign chains."""
