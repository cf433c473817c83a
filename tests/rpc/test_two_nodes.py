"""Two nodes with their servers in one process: the clients of one never wait for those of the other."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest
import trio

from cfnode.core.bounded import BoundedDict
from cfnode.flow.fairness import FairLimiter
from cfnode.flow.shared_work import SharedWork
from cfnode.rpc.table.blocks import MAX_RUNTIME_CALLS, JsonCache
from cfnode.rpc.table.per_node import PerNode
from tests.rpc.clients import Http
from tests.rpc.conftest import MakeServed
from tests.support.waiting import LIMIT_S

SHARED = (BoundedDict, FairLimiter, JsonCache, SharedWork, trio.CapacityLimiter, trio.Lock, trio.Semaphore)
"""Types of limits and caches."""


@pytest.mark.parametrize(
    ("part", "work", "places", "call"),
    [
        ("queries", "call", MAX_RUNTIME_CALLS, ("state_call", "Core_version", "0x")),
        ("states", "read", 1, ("state_getKeys", "0x")),
        ("states", "read", 1, ("state_getKeysPaged", "0x", 1)),
    ],
)
async def test_a_node_whose_places_are_all_taken_does_not_hold_up_another_one(
    make_served: MakeServed,
    tmp_path: Path,
    nursery: trio.Nursery,
    monkeypatch: pytest.MonkeyPatch,
    part: str,
    work: str,
    places: int,
    call: tuple[Any, ...],
) -> None:
    """Answer by one node while all places of another in the same process are taken."""
    busy, idle = [await make_served(base_path=tmp_path / name) for name in ("busy", "idle")]
    begun = trio.Semaphore(0)

    async def endless(*_: Any, **__: Any) -> Any:
        begun.release()
        await trio.sleep_forever()

    async def ask() -> None:
        async with Http(busy.port) as client:
            await client.call(*call)

    monkeypatch.setattr(getattr(busy.node.chain, part), work, endless)
    for _ in range(places + 1):
        nursery.start_soon(ask)
    with trio.fail_after(LIMIT_S):
        for _ in range(places):
            await begun.acquire()
        assert await idle.call(*call)


SERVERS = ("rpc", "serving", "network", "node", "dashboard", "swap_service")


def modules(package: str) -> Iterator[ModuleType]:
    """Yield all modules of a package of cfnode."""
    root = importlib.import_module(f"cfnode.{package}")
    for info in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
        yield importlib.import_module(info.name)


@pytest.mark.parametrize("package", SERVERS)
def test_no_module_of_a_server_holds_a_limit_or_a_cache(package: str) -> None:
    """Hold no limit or cache in a module: two nodes would share it."""
    offenders = [
        f"{module.__name__}.{name}"
        for module in modules(package)
        for name, value in vars(module).items()
        if isinstance(value, SHARED)
    ]
    assert offenders == []


class StandInChain:
    """A chain that can only be referred to."""


def test_what_a_nodes_clients_share_is_one_object_and_ends_with_the_node() -> None:
    """Give each node's clients one shared object that ends with the node."""
    limits = PerNode(lambda: FairLimiter(1))
    first, second = (cast(Any, SimpleNamespace(chain=StandInChain())) for _ in range(2))
    of_first = weakref.ref(limits.of(first))
    assert limits.of(first) is of_first()
    assert limits.of(second) is not of_first()
    del first
    gc.collect()
    assert of_first() is None
