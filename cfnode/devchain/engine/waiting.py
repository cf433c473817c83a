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
from typing import Any, Final

from cfnode.devchain.engine.answers import Answer, Proved, Reported, Witnessed
from cfnode.devchain.engine.block import BlockView
from cfnode.devchain.engine.names import CHAINS, SIGNERS
from cfnode.devchain.engine.sending import broadcasts
from cfnode.devchain.engine.signing import SCHEMES, Scheme, UnknownKey
from cfnode.devchain.engine.situation import Situation
from cfnode.swaps.timing import BLOCK_TIMES

__all__ = ["MAX_ANSWERS", "PARTS", "key_of"]

MAX_ANSWERS: Final = 500
"""Answers in one block; later ones wait for the next block."""
HEARTBEATS_AN_INTERVAL: Final = 3
"""Heartbeats in the interval in which the chain wants one."""
TRACKED_EVERY_MS: Final = 60_000
"""Time between two reports of a foreign chain's height: each costs a transaction."""


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
            case (phase, status) if _is_phase(phase, "AwaitingKeygen", scheme):
                key = SCHEMES[scheme].generated(status["new_epoch_index"])
                yield from _outcomes(situation, pallet, "report_keygen_outcome", status, key)
            case (phase, status) if _is_phase(phase, "AwaitingKeyHandover", scheme):
                key = _handed_over(block, pallet, SCHEMES[scheme], status)
                yield from _outcomes(situation, pallet, "report_key_handover_outcome", status, key)


def _is_phase(name: str, phase: str, scheme: str) -> bool:
    """Return whether a phase has this name, to which later releases add the scheme's: `…EvmCrypto`."""
    return name in (phase, f"{phase}{scheme}Crypto")


def _handed_over(block: BlockView, pallet: str, scheme: Scheme, status: Mapping[str, Any]) -> Any:
    _, key = key_of(block, pallet)
    return scheme.handed_over(key, status["new_public_key"])


def key_of(block: BlockView, pallet: str) -> tuple[int | None, Any]:
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


PARTS: Final[tuple[Callable[[Situation], Iterator[Answer]], ...]] = (
    heartbeats,
    signatures,
    broadcasts,
    rotations,
    heights,
)
"""What is answered, in this order."""
