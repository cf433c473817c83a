"""The mini chain, opened for one test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.node.mini import Rig

MakeRig = Callable[..., Awaitable[Rig]]


@pytest.fixture
async def make_rig(tmp_path: Path) -> AsyncIterator[MakeRig]:
    """Makes mini chains that are closed at the end; a name opens the same database again."""
    rigs: list[Rig] = []

    async def make(name: str = "db", **options: Any) -> Rig:
        path = tmp_path / name
        path.mkdir(exist_ok=True)
        rigs.append(await Rig.make(path, **options))
        return rigs[-1]

    yield make
    for rig in rigs:
        rig.store.close()


@pytest.fixture
async def rig(make_rig: MakeRig) -> Rig:
    """A chain with one authority, blocks on demand and two blocks of finality lag."""
    return await make_rig()
