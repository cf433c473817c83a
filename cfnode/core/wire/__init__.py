"""Which messages do nodes of the chain exchange? Pure codecs of all of them.

Requests and answers (`blocks`, `warp`, `state`, `light`) and notifications (`announces`, `transactions`,
`grandpa_gossip`), each with its bounds. A malformed message raises `WireError` and nothing else. Nothing here
is verified: the caller does that, who knows the request.
"""

from __future__ import annotations

from cfnode.core.wire.errors import WireError

__all__ = ["WireError"]
