"""Calls of the runtime API of a world."""

from __future__ import annotations

from typing import Any

from tests.devchain.runtime.world import World


def ask(world: World, method: str, *arguments: Any) -> Any:
    """Return the answer of a method of CustomRuntimeApi."""
    return world.api(f"CustomRuntimeApi_{method}", *arguments)
