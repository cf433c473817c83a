"""The answers to the messages of all connections: sessions, the dispatcher, the texts that are kept."""
