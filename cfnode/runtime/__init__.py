"""The State Chain runtime: calls, the executor process, and WebAssembly."""
