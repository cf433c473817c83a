"""A key rotation up to its end: the new epoch, and the transactions that set the new key on the EVM chains.

Blocks are added until the new epoch has begun and the `setAggKeyWithAggKey` of each EVM chain has been sent.
A transaction that waits for others of its chain is awaited a little longer, and then left out: on a chain
whose transactions are held back it is never sent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from cfnode.core.assets import chains_of
from cfnode.core.block import BlockRef
from cfnode.core.vault_calls import set_agg_key
from cfnode.node.chain.view import ChainView
from cfnode.node.signing.outcome import BlockEvent, read_events
from cfnode.swaps.events import Name

__all__ = ["RotationCall", "RotationResult", "RotationStopped", "follow"]

EVM_CHAINS = chains_of("evm", "tron")
MAX_ROTATION_BLOCKS = 60
"""Maximum blocks of a rotation: usually it takes eight, and ten more if a key is not tested in time."""
MAX_BLOCKS_AFTER = 12
"""Maximum blocks after the new epoch: a waiting transaction is retried ten blocks after its signature."""


class RotationStopped(Exception):
    """A rotation that has stopped; the text says why."""


@dataclass(frozen=True, slots=True)
class RotationCall:
    """A transaction that sets the new key: the key manager (20 bytes) and the call's signed data."""

    chain: str
    broadcast_id: int
    contract: bytes
    data: bytes


@dataclass(slots=True)
class RotationResult:
    """The first block of the new epoch, and the transactions that were sent.

    `expected`: how many there will be, one for each EVM chain of the runtime.
    """

    expected: int
    block: BlockRef | None = None
    epoch: int = 0
    calls: list[RotationCall] = field(default_factory=list)

    def receive(self, block: BlockRef, event: BlockEvent) -> None:
        """Process an event. Raises RotationStopped."""
        if (event.pallet, event.name) == ("Validator", "RotationAborted"):
            raise RotationStopped(f"the rotation was aborted in block {block.number}: safe mode forbids it")
        if (event.pallet, event.name) == ("Validator", "NewEpoch"):
            self.block, self.epoch = block, event.fields
        if event.name == Name.SIGNED:
            self._receive_request(event)

    def _receive_request(self, event: BlockEvent) -> None:
        assert isinstance(event.fields, dict)
        transaction, chain = event.fields["transaction_payload"], event.pallet.removesuffix("Broadcaster")
        if transaction.get("data", b"").startswith(set_agg_key(bytes(32), odd=False).selector):
            number = event.fields.get("broadcast_attempt_id", event.fields)["broadcast_id"]  # before 1.5
            self.calls.append(RotationCall(chain, number, transaction["contract"], transaction["data"]))

    def is_over(self, best: int) -> bool:
        """Return whether no further event is expected when the best block has this number."""
        if self.block is None:
            return False
        return len(self.calls) == self.expected or best - self.block.number >= MAX_BLOCKS_AFTER


async def follow(
    chain: ChainView, began: BlockRef, add_block: Callable[[], Awaitable[BlockRef]]
) -> RotationResult:
    """Add blocks until the rotation that began in a block is complete. Raises RotationStopped."""
    pallets = {pallet.name for pallet in (await chain.runtime_at(began.hash)).metadata.pallets}
    rotation = RotationResult(expected=sum(f"{name}Broadcaster" in pallets for name in EVM_CHAINS))
    last_seen = began.number
    while not rotation.is_over(last_seen):
        best_block = await add_block()
        if best_block.number - began.number > MAX_ROTATION_BLOCKS:
            raise RotationStopped(f"the rotation is not complete after {MAX_ROTATION_BLOCKS} blocks")
        for number in range(last_seen + 1, best_block.number + 1):
            hash_ = chain.hash_at(number)
            assert hash_ is not None
            for event in await read_events(chain, hash_):
                rotation.receive(BlockRef(hash_, number), event)
        last_seen = best_block.number
    return rotation
