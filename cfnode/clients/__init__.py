"""Call other programs, with limits on what comes back. It imports `core` only."""
