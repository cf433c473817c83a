"""What do nodes of the chain tell each other? The messages, as pure codecs.

Requests and answers (`blocks`, `warp`, `state`, `light`) and notifications (`announces`, `transactions`,
`grandpa_gossip`), each with its bounds. What is malformed raises `WireError` and nothing else. Nothing in
here is verified: that is for those who know what was asked.
"""

from __future__ import annotations

from cfnode.core.wire.errors import WireError

__all__ = ["WireError"]
