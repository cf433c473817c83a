"""The chain's own runtime: WebAssembly, run by wasmtime.

`runtime.WasmRuntime` implements `calls.Runtime`. The node's main process and development chains import
nothing from here: wasmtime is a library of 30 MB.
"""
