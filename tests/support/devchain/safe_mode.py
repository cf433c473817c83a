"""Switches of the safe mode."""

from __future__ import annotations

from dataclasses import replace

from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from tests.devchain.runtime.broker import Broker


def safe_mode(broker: Broker, member: str, switch: str) -> None:
    """Turn a switch of the safe mode."""
    with broker.arranging() as runtime:
        mode = runtime.pallet(EnvironmentStorage).RuntimeSafeMode
        switches = mode.get()
        board = replace(getattr(switches, member), **{switch: False})
        mode.put(replace(switches, **{member: board}))
