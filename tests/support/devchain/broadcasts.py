"""Broadcasts that are held, and events that are waited for."""

from __future__ import annotations

from typing import Any

from tests.devchain.runtime.swapper import Swapper


def hold(broker: Swapper, held: bool = True, chain: str = "Ethereum") -> None:
    """Hold the broadcasts of a chain, or let them go."""
    assert broker.dev("hold_broadcasts", chain=chain, held=held) == "Ok"


def emitted_by(broker: Swapper, chain: str = "Ethereum") -> list[str]:
    """Return the events of a chain's broadcaster in this block."""
    return [name for _, pallet, name, _ in broker.world.events() if pallet == f"{chain}Broadcaster"]


def until(broker: Swapper, name: str, most: int = 60) -> Any:
    """Let blocks go by until an event of this name; its fields."""
    for _ in range(most):
        broker.blocks(1)
        if events := broker.all_of(name):
            return events[0]
    raise AssertionError(f"no {name} in {most} blocks")
