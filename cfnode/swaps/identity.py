"""Identity of a deposit channel: its chain, its number, and the State Chain's block that opened it.

A number alone does not identify a channel. On Ethereum, Arbitrum, BSC, Tron, Polkadot and Assethub the number
of an expired channel, and its address, go back to a pool, and the next opening on that chain gets them again:
for another broker, for other assets, or as a channel of a liquidity provider. So each fact that names a
channel by its number belongs to the newest opening of that number at or before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from cfnode.core.assets import ASSETS, UnknownChain, chain_in_text
from cfnode.swaps.events import OPENINGS, PRIVATE_ASSET, Name

__all__ = ["ChannelId", "Place", "UnknownChain", "belongs", "newest_opening", "opened_channel"]

Place: TypeAlias = tuple[int, int]
"""Place of an event: block, and index among the block's events."""

_TEXT: Final = re.compile(r"([0-9]{1,10})-([A-Za-z]{1,20})-([0-9]{1,20})")


@dataclass(frozen=True, slots=True)
class ChannelId:
    """Identity of a deposit channel; as text `<block>-<Chain>-<number>`."""

    chain: str
    number: int
    block: int

    def __str__(self) -> str:
        """Return the text form, as in `12-Bitcoin-1`."""
        return f"{self.block}-{self.chain}-{self.number}"

    @classmethod
    def parse(cls, text: str) -> ChannelId | None:
        """Return the channel of a text, its chain in any case; None for another text. Raises UnknownChain."""
        match = _TEXT.fullmatch(text)
        if match is None:
            return None
        return cls(chain_in_text(match[2]).name, int(match[3]), int(match[1]))


def opened_channel(event: str, fields: Mapping[str, Any]) -> tuple[str, int] | None:
    """Return chain and number of the channel that an event opens; None for another event."""
    if event == Name.PRIVATE_CHANNEL:
        return ASSETS[PRIVATE_ASSET].chain, fields["channel_id"]
    asset = OPENINGS.get(event)
    return None if asset is None else (ASSETS[fields[asset]].chain, fields["channel_id"])


def newest_opening(openings: Iterable[Place], fact: Place) -> Place | None:
    """Return the opening that a fact belongs to: the newest one at or before it; None if all are later."""
    return max((opening for opening in openings if opening <= fact), default=None)


def belongs(fact: Place, opening: Place, openings: Iterable[Place]) -> bool:
    """Return whether a fact belongs to an opening, one of all `openings` of its number."""
    return newest_opening(openings, fact) == opening
