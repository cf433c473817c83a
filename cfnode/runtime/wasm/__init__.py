"""The chain's own runtime: WebAssembly, run by wasmtime behind the door.

`runtime.WasmRuntime` is what the door chooses. Nothing here is imported by the node's main process or on a
development chain: wasmtime is a library of 30 MB.
"""
