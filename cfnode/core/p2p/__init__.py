"""Protocols of libp2p as state machines without I/O: bytes in, events and bytes out.

Each machine follows its page of the libp2p specifications (github.com/libp2p/specs). A fault of the peer
raises `RemoteError` and nothing else; a fault of our own side raises `LocalError`.
"""
