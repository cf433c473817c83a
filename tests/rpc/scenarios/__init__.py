"""Stories of swaps, checked against books to the last unit."""
