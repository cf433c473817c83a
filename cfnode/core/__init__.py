"""The protocol as pure functions and state machines: no trio, socket, file, clock or randomness."""
