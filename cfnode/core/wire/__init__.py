"""Codecs of the messages that nodes of the chain exchange.

They are requests and answers (`blocks`, `warp`, `state`, `light`) and notifications (`announces`,
`transactions`, `grandpa_gossip`), each with its bounds. A malformed message raises `WireError` and nothing
else. Nothing here is verified: the caller knows the request, and verifies the answer.
"""

from __future__ import annotations

from cfnode.core.wire.errors import WireError

__all__ = ["WireError"]
