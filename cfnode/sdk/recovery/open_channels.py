"""Receivers of the deposit channels in the State Chain's storage.

A channel stays in the chain's storage until its address is reused, longer than the events of its swaps. It
names asset and receiver, but no amount, so several calls may match.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cfnode.core.addresses import NETWORKS, AddressError, script_from_text
from cfnode.core.assets import ASSETS, chains_of
from cfnode.core.scale import NotInMetadataError, ScaleError
from cfnode.core.scale.metadata import Metadata
from cfnode.sdk.exchange import Steps, rpc
from cfnode.sdk.options import ClientSession
from cfnode.sdk.recovery.blocks import metadata_of
from cfnode.sdk.recovery.owner import Address
from cfnode.sdk.recovery.payments import Payment
from cfnode.sdk.recovery.storage import hex_bytes

__all__ = ["payments_of_open_channel"]

_BY_FORM = {
    "evm": chains_of("evm"),
    "tron": chains_of("tron"),
    "raw": tuple(chain for chain in chains_of("solana", "substrate") if chain != "Polkadot"),
}


def payments_of_open_channel(session: ClientSession, url: str, owner: Address) -> Steps[tuple[Payment, ...]]:
    """Return the payout and the refund of the channels with an address.

    The result is empty if the chain stores no such channel.
    """
    at = yield from rpc(session, url, "chain_getBlockHash", [])
    version = yield from rpc(session, url, "state_getRuntimeVersion", [at])
    metadata = yield from metadata_of(session, url, version, at)
    payments: list[Payment] = []
    for chain, account in _places(owner):
        try:
            key = metadata.storage_key(f"{chain}IngressEgress", "DepositChannelLookup", account)
        except (NotInMetadataError, ScaleError):
            continue
        entry = yield from rpc(session, url, "state_getStorage", ["0x" + key.hex(), at])
        payments += _payments(metadata, chain, hex_bytes(entry, url))
    return tuple(payments)


def _places(owner: Address) -> Iterator[tuple[str, Any]]:
    """Yield the chains with addresses of this form, and the account in the format of their pallets."""
    if owner.form != "bitcoin":
        yield from ((chain, owner.raw) for chain in _BY_FORM[owner.form])
    else:
        for rules in NETWORKS.values():
            try:
                yield "Bitcoin", script_from_text(owner.text, rules)
            except AddressError:
                continue
            return


def _payments(metadata: Metadata, chain: str, entry: bytes) -> Iterator[Payment]:
    if not entry:
        return
    codec = metadata.storage_codec(f"{chain}IngressEgress", "DepositChannelLookup")
    try:
        details = codec.decode(entry)
        kind, action = details["action"]
        if kind != "Swap":
            return
        target, source = ASSETS[action["destination_asset"]], details["deposit_channel"]["asset"]
        yield Payment(target.chain, target.name, recipient=_account(action["destination_address"]))
        refund = action["refund_params"]["refund_address"]
    except (ScaleError, LookupError, TypeError, ValueError):
        return
    if (account := _account(refund)) is not None:
        yield Payment(chain, source if source in ASSETS else None, recipient=account)


def _account(address: Any) -> bytes | None:
    """Return the bytes of an address, with or without its chain."""
    if isinstance(address, tuple) and len(address) == 2:
        address = address[1]
    if isinstance(address, Mapping) or not isinstance(address, bytes):
        return None
    return address
