"""Tests of WebAssembly runtimes."""
