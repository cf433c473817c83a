"""The controls of a development chain (`devchain.control`) on a chain in its own runtime.

The development runtime has a pallet for tests; this one has not. A wish becomes what engines, the council or
an account of the engine's would send, and goes into the next block through the engine. What the runtime
cannot do is refused, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, NoReturn, TypeVar

from cfnode.core.addresses import EncodedAddress
from cfnode.core.assets import ASSETS
from cfnode.core.block import BlockRef
from cfnode.core.extrinsic import extrinsic_hash
from cfnode.core.scale import ScaleError
from cfnode.devchain.author import Author
from cfnode.devchain.control import DevCallRefused, DevControl
from cfnode.devchain.engine.answers import Answer
from cfnode.devchain.engine.block import BlockView
from cfnode.devchain.engine.engine import Engine, Wish
from cfnode.devchain.engine.events import broadcast_failure, deposit, funding, governed
from cfnode.devchain.engine.liquidity import Provision
from cfnode.devchain.engine.names import CHAINS, EVM_CHAINS
from cfnode.devchain.engine.situation import Situation
from cfnode.devchain.snapshots import Snapshots
from cfnode.devchain.voter import Voter
from cfnode.node.chain.chain import NodeChain
from cfnode.node.chain.events import BestChanged
from cfnode.node.pool.pool import TransactionPool
from cfnode.node.signing.outcome import (
    BlockEvent,
    Inclusion,
    SubmissionError,
    dispatch_error_text,
    read_events,
    read_inclusion,
)

__all__ = ["EngineControl"]

Answers = Callable[[Situation], Iterable[Answer]]
T = TypeVar("T")
MAX_BLOCKS_WAITED: Final = 30
"""Blocks in which an order has to be included."""
_REASONS: Final[Mapping[str, str]] = {
    "prewitness_deposit": "the engine announces no deposits: it witnesses those that are confirmed",
    "send_to_vault": "the engine witnesses no vault swaps",
    "set_boost_depth": "boost pools are filled by their accounts",
    "set_lending_depth": "lending pools are filled by their accounts",
    "read_oracle": "the oracle's prices come from elections, in which the engine does not vote",
    "end_epoch": "an epoch begins with new keys here: call dev_rotate",
    "settle_redemption": "the engine does not watch the gateway's redemptions",
}
"""Calls of the development pallet that have no counterpart, with the reasons."""


class EngineControl(DevControl):
    """The controls of a chain whose engine we are."""

    def __init__(
        self,
        chain: NodeChain,
        pool: TransactionPool,
        author: Author,
        voter: Voter,
        snapshots: Snapshots,
        engine: Engine,
    ) -> None:
        super().__init__(chain, pool, author, voter, snapshots)
        self._engine = engine
        self._calls: Mapping[str, Callable[..., Any]] = {
            "fund_account": self._fund,
            "witness_deposit": self._deposit,
            "fail_broadcast": self._fail_broadcast,
            "abort_next_broadcast": self._abort_next,
            "hold_broadcasts": self._hold,
            "set_pool": self._set_pool,
            "fail_receiver": self._fail_receiver,
        }

    async def apply(self, name: str, **fields: Any) -> Inclusion:
        """Do what a call of the development pallet does, or raise DevCallRefused."""
        if name not in self._calls:
            self._refuse(_REASONS.get(name, f"{name} exists in the development runtime only"))
        return await self._calls[name](**fields)  # type: ignore[no-any-return]

    async def as_governance(self, call: Any) -> Inclusion:
        """Dispatch a runtime call as the council does: proposed in one block, executed in the next."""
        proposed = await self._order(lambda situation: governed(situation, call))
        while self._chain.best.number <= proposed.block.number:
            await self._add_block()
        executed = self._chain.hash_at(proposed.block.number + 1)
        assert executed is not None
        block = BlockRef(executed, proposed.block.number + 1)
        events = await read_events(self._chain, executed)
        for event in events:
            if (event.pallet, event.name) == ("Governance", "FailedExecution"):
                metadata = (await self._chain.runtime_executing(block.hash)).metadata
                raise SubmissionError(dispatch_error_text(metadata, _payload(event)))
        return Inclusion(bytes(32), block, 0, events)

    async def upgrade(self, release: str) -> Inclusion:
        """Raise DevCallRefused: releases of the development runtime are no releases of this one."""
        self._refuse(f"{release} is a release of the development runtime")

    def hold_signatures(self, hold: bool = True) -> None:
        """Hold the authorities' signatures for other chains from now on, or release them."""
        super().hold_signatures(hold)
        self._engine.holds = replace(self._engine.holds, signatures=hold)

    def _refuse(self, reason: str) -> NoReturn:
        raise DevCallRefused(f"this chain runs in the chain's own runtime: {reason}")

    # What the calls of the development pallet become

    async def _fund(self, account_id: bytes, amount: int) -> Inclusion:
        return await self._order(lambda situation: [funding(situation, account_id, amount)])

    async def _deposit(
        self, deposit_address: EncodedAddress, asset: str, amount: int, transaction: bytes | None
    ) -> Inclusion:
        inclusion = await self._order(
            lambda situation: deposit(situation, deposit_address, asset, amount, transaction)
        )
        chain = ASSETS[asset].chain
        for event in inclusion.events:
            if (event.pallet, event.name) == (f"{chain}IngressEgress", "DepositWitnessRejected"):
                metadata = (await self._chain.runtime_executing(inclusion.block.hash)).metadata
                raise DevCallRefused(
                    f"Deposit rejected: {dispatch_error_text(metadata, event.fields['reason'])}"
                )
            if (event.pallet, event.name) == (f"{chain}IngressEgress", "DepositIgnored"):
                raise DevCallRefused("Deposit rejected: the amount is below the chain's minimum")
        return inclusion

    async def _fail_broadcast(self, chain: str, broadcast_id: int | None) -> Inclusion:
        return await self._order(lambda situation: broadcast_failure(situation, chain, broadcast_id))

    async def _abort_next(self, chain: str) -> Inclusion:
        self._require(chain)
        best = self._chain.best
        metadata = (await self._chain.runtime_at(best.hash)).metadata
        with self._chain.state(best.hash) as state:
            number = BlockView(metadata, state).value(f"{chain}Broadcaster", "BroadcastIdCounter") + 1
        holds = self._engine.holds
        self._engine.holds = replace(holds, failing=holds.failing | {(chain, number)})
        return await self._empty_block()

    async def _hold(self, chain: str, held: bool) -> Inclusion:
        self._require(chain)
        chains = self._engine.holds.chains
        chains = chains | {chain} if held else chains - {chain}
        self._engine.holds = replace(self._engine.holds, chains=chains)
        return await self._empty_block()

    async def _fail_receiver(self, address: EncodedAddress, asset: str, fails: bool) -> Inclusion:
        if ASSETS[asset].chain not in EVM_CHAINS:
            self._refuse(f"transfers fail on {' and '.join(EVM_CHAINS)} only")
        holds, receiver = self._engine.holds, (asset, address[1])
        receivers = holds.receivers | {receiver} if fails else holds.receivers - {receiver}
        self._engine.holds = replace(holds, receivers=receivers)
        return await self._empty_block()

    async def _set_pool(self, asset: str, price: int | None, depth: int | None) -> Inclusion:
        provision = Provision(asset, price, depth)
        if (call := await self._at_best(provision.refilled)) is not None:
            return await self.as_governance(call)
        inclusion = None
        while (step := await self._at_best(provision.next_step)) is not None:
            inclusion = await (self.as_governance(step) if isinstance(step, tuple) else self._order(step))
        assert inclusion is not None, "a pool without an order needs one"
        return inclusion

    async def _at_best(self, look: Callable[[BlockView], T]) -> T:
        """Return what `look` finds in the best block, or raise DevCallRefused with its reason."""
        best = self._chain.best
        metadata = (await self._chain.runtime_at(best.hash)).metadata
        with self._chain.state(best.hash) as state:
            try:
                return look(BlockView(metadata, state))
            except ScaleError as error:
                self._refuse(str(error))

    def _require(self, chain: str) -> None:
        if chain not in CHAINS:
            self._refuse(f"the engine sends nothing to {chain}")

    # Orders

    async def _empty_block(self) -> Inclusion:
        block = await self._add_block()
        return Inclusion(bytes(32), block, 0, await read_events(self._chain, block.hash))

    async def _order(self, answers: Answers) -> Inclusion:
        """Give answers in the next block; return when a block of the best chain includes them.

        Raises SubmissionError or DevCallRefused.
        """
        with self._engine.ordered(answers) as order:
            if self._author.seal != "slots":
                final = self._author.seal == "instant" and not self._voter.is_held
                made = await self.new_block(finalize=final)
                return await self._outcome(order, made.block.hash, dict(made.refused))
            with self._chain.subscribe(only=BestChanged) as news:
                for _ in range(MAX_BLOCKS_WAITED):
                    event = await anext(news)
                    for block in event.enacted if isinstance(event, BestChanged) else ():
                        if self._index(order, block) is not None or order.refusal is not None:
                            return await self._outcome(order, block, {})
        raise SubmissionError(f"no block of {MAX_BLOCKS_WAITED} included the engine's transaction")

    def _index(self, order: Wish, block: bytes) -> int | None:
        body = self._chain.body(block) or []
        hashes = [extrinsic_hash(extrinsic) for extrinsic in body]
        return hashes.index(order.extrinsic) if order.extrinsic in hashes else None

    async def _outcome(self, order: Wish, block: bytes, refused: Mapping[bytes, str]) -> Inclusion:
        if order.refusal is not None:
            self._refuse(order.refusal)
        index = self._index(order, block)
        if index is None or order.extrinsic is None:
            reason = refused.get(order.extrinsic or b"", "the block had no room for it")
            raise SubmissionError(f"the engine's transaction was not included: {reason}")
        inclusion = await read_inclusion(self._chain, order.extrinsic, block, index)
        for event in inclusion.events:
            if (event.pallet, event.name) == ("Witnesser", "WitnessExecutionFailed"):
                metadata = (await self._chain.runtime_executing(block)).metadata
                raise SubmissionError(dispatch_error_text(metadata, event.fields["error"]))
        return inclusion


def _payload(event: BlockEvent) -> Any:
    """Return the one field of an event, which has a name in some releases."""
    fields = event.fields
    return next(iter(fields.values())) if isinstance(fields, dict) and len(fields) == 1 else fields
