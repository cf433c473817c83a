"""Target of an attack: ports of the attacked node, and public data of its chain."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Target:
    """Ports on 127.0.0.1 of the attacked node (`rpc`, `peer`) and of the honest author (`author_rpc`)."""

    rpc: int
    peer: int
    peer_id: str
    author_rpc: int
    genesis: str
    """Genesis hash in hex."""

    @property
    def address(self) -> str:
        """The multiaddress of its peer port."""
        return f"/ip4/127.0.0.1/tcp/{self.peer}/p2p/{self.peer_id}"

    def as_json(self) -> str:
        """Return the target as the JSON of an attacker's command line."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Target:
        """Read the target from the fields of its JSON."""
        return cls(**fields)
