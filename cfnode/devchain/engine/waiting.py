"""What a chain waits for from its engines, read from the state of a block, and the answers to it.

1. *Heartbeats*: an authority without one is offline, and is asked for nothing.
2. *Heights* of the foreign chains follow the clock of this one.
3. *Ceremonies*: each payload that waits for a signature is signed with the key that the state names.
4. *Rotations*: the key of the next epoch is generated, and handed over where the chain asks for it.
5. *Broadcasts*: each transaction that waits is on its chain, and succeeds.

Nothing is remembered from block to block, so forks, reverts, snapshots and restarts need no care: the state
of each block says what is open in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cfnode.core.hashing import blake2_256, keccak_256
from cfnode.core.vault_calls import set_agg_key
from cfnode.devchain.engine.answers import Answer, Proved, Reported, Witnessed
from cfnode.devchain.engine.block import Block, Call
from cfnode.devchain.engine.names import CHAINS, SIGNERS
from cfnode.devchain.engine.signing import SCHEMES, Scheme, UnknownKey
from cfnode.swaps.timing import BLOCK_TIMES

__all__ = ["MAX_ANSWERS", "PARTS", "Holds", "Situation", "broadcast_number", "failure", "key_of"]

MAX_ANSWERS: Final = 500
"""Answers in one block; later ones wait for the next block."""
HEARTBEATS_AN_INTERVAL: Final = 3
"""Heartbeats in the interval in which the chain wants one."""
TRACKED_EVERY_MS: Final = 60_000
"""Time between two reports of a foreign chain's height: each costs a transaction."""
_SET_AGG_KEY: Final = set_agg_key(bytes(32), odd=False).selector


@dataclass(frozen=True, slots=True)
class Holds:
    """What a test holds back: chains whose transactions stay under way, and signatures.

    `failing`: broadcasts, by chain and number, that each authority fails to send.
    """

    chains: frozenset[str] = frozenset()
    failing: frozenset[tuple[str, int]] = frozenset()
    signatures: bool = False


@dataclass(frozen=True, slots=True)
class Situation:
    """A block to answer: its state, the epoch, the authorities that are ours.

    `since_ms`, `until_ms`: times of the block before it and its own, Unix milliseconds; 0 without one.
    `given`: hashes of the calls that are witnessed in the next block.
    """

    block: Block
    epoch: int
    authorities: tuple[bytes, ...]
    since_ms: int
    until_ms: int
    holds: Holds = Holds()
    given: set[bytes] = field(default_factory=set)

    def is_new(self, call: Call) -> bool:
        """Return whether a witnessed call has not been sent in this epoch, and note that it is sent now.

        The chain executes a call once in an epoch, by its hash.
        """
        call_hash = blake2_256(self.block.encoded(call))
        is_new = call_hash not in self.given and (
            self.block.stored("Witnesser", "Votes", self.epoch, call_hash) is None
        )
        self.given.add(call_hash)
        return is_new

    @property
    def number(self) -> int:
        """The number of the block."""
        return int(self.block.value("System", "Number"))


def heartbeats(situation: Situation) -> Iterator[Answer]:
    """Yield the heartbeat of each of our authorities that is due."""
    block = situation.block
    if not block.has("Reputation", "LastHeartbeat"):
        return
    interval = int(block.metadata.constant("Reputation", "HeartbeatBlockInterval"))
    number = situation.number
    for authority in situation.authorities:
        last = block.value("Reputation", "LastHeartbeat", authority)
        if last is None or number + 1 - int(last) >= interval // HEARTBEATS_AN_INTERVAL:
            yield Reported(authority, block.call("Reputation", "heartbeat"))


def heights(situation: Situation) -> Iterator[Answer]:
    """Yield the height of each foreign chain that has grown since the block before, once a minute."""
    block = situation.block
    since, until = (
        time // TRACKED_EVERY_MS * TRACKED_EVERY_MS for time in (situation.since_ms, situation.until_ms)
    )
    if not situation.since_ms or since == until:
        return
    for chain in CHAINS:
        chain_ms = BLOCK_TIMES[chain].nominal
        grown = until // chain_ms - since // chain_ms
        if grown and block.has_call(f"{chain}ChainTracking", "update_chain_state"):
            state = block.value(f"{chain}ChainTracking", "CurrentChainState")
            if state is not None:
                state = {**state, "block_height": state["block_height"] + grown}
                call = block.call(f"{chain}ChainTracking", "update_chain_state", new_chain_state=state)
                yield Witnessed(call)


def signatures(situation: Situation) -> Iterator[Answer]:
    """Yield the signature of each payload whose key is known."""
    block = situation.block
    if situation.holds.signatures:
        return
    for scheme in SIGNERS:
        pallet = f"{scheme}ThresholdSigner"
        for (ceremony_id,), ceremony in block.entries(pallet, "PendingCeremonies"):
            payload = ceremony["request_context"]["payload"]
            try:
                signature = SCHEMES[scheme].sign(ceremony["key"], ceremony["epoch"], payload)
            except UnknownKey:
                continue  # a ceremony of other signers
            fields = {"ceremony_id": ceremony_id, "signature": signature}
            yield Proved(block.call(pallet, "signature_success", **fields))


def rotations(situation: Situation) -> Iterator[Answer]:
    """Yield our authorities' outcomes of key generations and handovers."""
    block = situation.block
    if situation.holds.signatures:
        return
    for scheme in SIGNERS:
        pallet = f"{scheme}ThresholdSigner"
        if not block.has(pallet, "PendingKeyRotation"):
            continue
        match block.value(pallet, "PendingKeyRotation"):
            case ("AwaitingKeygen", status):
                key = SCHEMES[scheme].generated(status["new_epoch_index"])
                yield from _outcomes(situation, pallet, "report_keygen_outcome", status, key)
            case ("AwaitingKeyHandover", status):
                key = _handed_over(block, pallet, SCHEMES[scheme], status)
                yield from _outcomes(situation, pallet, "report_key_handover_outcome", status, key)


def _handed_over(block: Block, pallet: str, scheme: Scheme, status: Mapping[str, Any]) -> Any:
    _, key = key_of(block, pallet)
    return scheme.handed_over(key, status["new_public_key"])


def key_of(block: Block, pallet: str) -> tuple[int | None, Any]:
    """Return a signer's present key and its epoch; (None, None) if it has none yet. Raises ScaleError."""
    present = block.value(pallet, "CurrentKeyEpoch")
    epoch = present["epoch_index"] if isinstance(present, dict) else present
    key = None if epoch is None else block.value(pallet, "Keys", epoch)
    if isinstance(key, dict) and "public_key" in key:  # a vault's, with its first block
        key = key["public_key"]
    return (None, None) if key is None else (epoch, key)


def _outcomes(
    situation: Situation, pallet: str, call: str, status: Mapping[str, Any], key: Any
) -> Iterator[Answer]:
    remaining = status["response_status"]["remaining_candidates"]
    fields = {"ceremony_id": status["ceremony_id"], "reported_outcome": ("Ok", key)}
    for authority in situation.authorities:
        if authority in remaining:
            yield Reported(authority, situation.block.call(pallet, call, **fields))


def broadcasts(situation: Situation) -> Iterator[Answer]:
    """Yield the success of each transaction that waits, on chains that no test holds."""
    for chain in CHAINS:
        if chain not in situation.holds.chains:
            for _, waiting in situation.block.entries(f"{chain}Broadcaster", "AwaitingBroadcast"):
                if (chain, broadcast_number(waiting)) not in situation.holds.failing:
                    yield from _success(situation.block, chain, waiting)
                elif waiting["nominee"] in situation.authorities:
                    yield failure(situation.block, chain, waiting)


def broadcast_number(waiting: Mapping[str, Any]) -> int:
    """Return the number of a waiting broadcast."""
    attempt = _attempt(waiting)
    return int(attempt.get("broadcast_attempt_id", attempt)["broadcast_id"])


def failure(block: Block, chain: str, waiting: Mapping[str, Any]) -> Answer:
    """Return the report of the authority that was asked to send a broadcast and could not."""
    attempt = _attempt(waiting)
    name = "broadcast_attempt_id" if "broadcast_attempt_id" in attempt else "broadcast_id"
    call = block.call(f"{chain}Broadcaster", "transaction_failed", broadcast_id=attempt[name])
    return Reported(waiting["nominee"], call)


def _attempt(waiting: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the broadcast in an entry of the chain: a struct of its own before 1.5."""
    attempt: Mapping[str, Any] = waiting.get("broadcast_attempt", waiting)
    return attempt


def _success(block: Block, chain: str, waiting: Mapping[str, Any]) -> Iterator[Answer]:
    attempt = _attempt(waiting)
    pallet, out_id = f"{chain}Broadcaster", attempt["transaction_out_id"]
    if block.stored(pallet, "TransactionOutIdToBroadcastId", out_id) is None:
        return  # it has succeeded, or was given up
    payload = attempt["transaction_payload"]
    metadata = payload if "contract" in payload else ()
    fields = {"tx_out_id": out_id, "tx_metadata": metadata}
    yield Witnessed(block.call(pallet, "transaction_succeeded", **fields))
    if payload.get("data", b"")[:4] == _SET_AGG_KEY and block.has_call(f"{chain}Vault", "vault_key_rotated"):
        height = block.value(f"{chain}ChainTracking", "CurrentChainState")["block_height"]
        fields = {"block_number": height, "tx_id": keccak_256(out_id["s"])}
        yield Witnessed(block.call(f"{chain}Vault", "vault_key_rotated", **fields))


PARTS: Final[tuple[Callable[[Situation], Iterator[Answer]], ...]] = (
    heartbeats,
    signatures,
    broadcasts,
    rotations,
    heights,
)
"""What is answered, in this order."""
