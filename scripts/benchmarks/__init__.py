"""Benchmarks of the project: each module measures one part against its yardstick, in one run."""
