"""Which broadcast holds my funds? The failed calls that a chain has on offer, by who is to be paid.

The State Chain keeps a list of the failed calls of this epoch and of the last: all that can still be
recovered, so neither old events nor an archive node are needed to find one. What is in neither list has
expired.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cfnode.core.scale import ScaleError, decode_compact
from cfnode.sdk.calls import Call
from cfnode.sdk.exchange import Steps, rpc, rpc_batch
from cfnode.sdk.options import Session
from cfnode.sdk.recovery.errors import NoSuchCall
from cfnode.sdk.recovery.node import CHAINS, hex_bytes, list_question, storage_key
from cfnode.sdk.recovery.payload import Payload, read_payload

__all__ = ["FindFailedCalls"]

MAX_CALLS = 2_000
_AT_ONCE = 50  # payloads asked for in one exchange


@dataclass(frozen=True)
class FindFailedCalls(Call[tuple[Payload, ...]]):
    """The payloads on offer on a chain, newest first; with `recipient` (20 bytes) only those that pay it."""

    chain: str
    recipient: bytes | None = None

    def steps(self, session: Session) -> Steps[tuple[Payload, ...]]:
        chain = CHAINS.get(self.chain.lower())
        if chain is None:
            raise NoSuchCall(f"failed calls exist on {', '.join(CHAINS.values())}, not on {self.chain!r}")
        url = session.rpc_url
        at = yield from rpc(session, url, "chain_getBlockHash", [])
        entry, chain_id = yield from rpc_batch(
            session,
            url,
            [
                ("state_getStorage", [storage_key("Validator", "CurrentEpoch"), at]),
                ("state_getStorage", [storage_key("Environment", f"{chain}ChainId"), at]),
            ],
        )
        epoch = int.from_bytes(hex_bytes(entry, session), "little")
        listed = yield from rpc(session, url, *list_question(chain, epoch, at))
        numbers = sorted(_numbers(hex_bytes(listed, session)), reverse=True)
        found: list[Payload] = []
        for start in range(0, len(numbers), _AT_ONCE):
            some = numbers[start : start + _AT_ONCE]
            method = f"cf_failed_call_{chain.lower()}"
            documents = yield from rpc_batch(session, url, [(method, [number, at]) for number in some])
            known = int.from_bytes(hex_bytes(chain_id, session), "little") or None
            found += [
                read_payload(chain, number, document, known)
                for number, document in zip(some, documents, strict=True)
                if isinstance(document, Mapping)
            ]
        return tuple(each for each in found if self.recipient in (None, each.transfer.recipient))


def _numbers(entries: bytes) -> set[int]:
    """The broadcast ids of a `Vec<{broadcast_id: u32, original_epoch: u32}>`."""
    try:
        count, offset = decode_compact(entries, 0) if entries else (0, 0)
    except ScaleError:
        return set()
    end = min(offset + 8 * min(count, MAX_CALLS), len(entries))
    return {int.from_bytes(entries[start : start + 4], "little") for start in range(offset, end, 8)}
