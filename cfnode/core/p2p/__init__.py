"""How do two libp2p nodes talk? State machines without I/O: bytes in, events and bytes out.

Each machine follows its page of the libp2p specifications (github.com/libp2p/specs). What the other side does
wrong raises `RemoteError` and nothing else; what our own side does wrong raises `LocalError`.
"""
