"""State of the node, requested in the background, so that no page waits for a node that is away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

import trio

from cfnode.core.chain_time import DEVELOPMENT, NOW_KEY, stored_time
from cfnode.core.foreign import block_number, whole_number
from cfnode.core.safe_text import printable
from cfnode.ledger.errors import CallError, LedgerError

__all__ = ["NodeState", "NodeWatch", "RpcNode"]

NODE_POLL_S: Final = 5.0
_CONTROLS: Final = "dev_newBlock"
"""A method that only the author of a development chain has."""
MAX_TEXT_CHARS: Final = 80


class RpcNode(Protocol):
    """Node that is called by JSON-RPC."""

    @property
    def origin(self) -> str:
        """Address of the node without secrets."""
        ...

    async def call(self, method: str, *params: Any) -> Any:
        """Return the result of a call. Raise CallError, NodeError."""
        ...


@dataclass(frozen=True, slots=True)
class NodeState:
    """State of a node by its own answers; `fault` if it did not answer.

    `is_dev`: its chain may be controlled. `time`: that of a development chain's best block, Unix
    milliseconds.
    """

    fault: str | None = "not asked yet"
    name: str = ""
    chain: str = ""
    best: int | None = None
    finalized: int | None = None
    peers: int | None = None
    is_syncing: bool = False
    spec_version: int | None = None
    is_dev: bool = False
    time: int | None = None


class NodeWatch:
    """Keeper of the state of a node. `run` asks it until cancelled."""

    def __init__(self, node: RpcNode) -> None:
        self.node = node
        self.state = NodeState()
        self.asked = trio.Event()
        """Event that is set when the node was asked for the first time."""

    async def run(self) -> None:
        """Ask the node again and again."""
        while True:
            await self.ask()
            await trio.sleep(NODE_POLL_S)

    async def ask(self) -> None:
        """Ask the node once."""
        try:
            self.state = await self._state()
        except LedgerError as error:
            self.state = NodeState(fault=str(error))
        except (TypeError, KeyError, ValueError, AttributeError):
            self.state = NodeState(
                fault=f"{self.node.origin} sent a malformed answer: is it a State Chain node?"
            )
        self.asked.set()

    async def _state(self) -> NodeState:
        call = self.node.call
        health, version = await call("system_health"), await call("state_getRuntimeVersion")
        best = await call("chain_getHeader")
        finalized = await call("chain_getHeader", await call("chain_getFinalizedHead"))
        peers = health.get("peers")
        is_development = await call("system_chainType") == DEVELOPMENT
        has_time = is_development and block_number(best) > 0
        return NodeState(
            None,
            _text(await call("system_version")),
            _text(await call("system_chain")),
            block_number(best),
            block_number(finalized),
            peers if type(peers) is int else None,
            health.get("isSyncing") is True,
            whole_number(version["specVersion"], 32),
            is_development and await self._is_controllable(),
            stored_time(await call("state_getStorage", NOW_KEY)) if has_time else None,
        )

    async def _is_controllable(self) -> bool:
        """Return whether the node authors its chain, and lets this client control it."""
        try:
            methods = (await self.node.call("rpc_methods"))["methods"]
        except CallError:
            return False
        return isinstance(methods, list) and _CONTROLS in methods


def _text(value: Any) -> str:
    return printable(value, MAX_TEXT_CHARS) if isinstance(value, str) else ""
