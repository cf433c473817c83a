"""What tests of several files use, one folder a room; no test is imported from another."""
