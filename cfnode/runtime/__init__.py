"""Calls of the State Chain's runtime: state sources, executor processes, and WebAssembly."""
