"""Deposit channels of a test: their opening, and deposits into them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Never

from cfnode.core.assets import ForeignAsset as CoreAsset
from cfnode.core.assets import asset_of
from cfnode.core.suggestions import did_you_mean
from cfnode.sdk.amounts import Quantity, base_units_or_none
from cfnode.sdk.assets import wire_asset
from cfnode.sdk.calls import Call
from cfnode.sdk.calls.channels import METHOD, NewChannel, estimated_expiry, read_opened
from cfnode.sdk.exchange import Steps
from cfnode.sdk.options import ClientSession
from cfnode.testing.dev_calls import Asset, ask, call, dev_call
from cfnode.testing.frames import expected

__all__ = ["Channel", "deposit", "open_channel"]

__tracebackhide__ = expected

CHANNEL_OPTIONS = ("channel_metadata", "boost_fee", "affiliate_fees", "refund_parameters", "dca_parameters")
"""Optional parameters of a channel, in the order of the method."""


class Channel(dict[str, Any]):
    """An open deposit channel: the broker's answer, with typed attributes.

    `id` is its name in statuses (`12-Bitcoin-1`), `chain` and `asset` those of the deposit (`"Bitcoin"`,
    `"Btc"`), `destination` the bought asset. It expires after the block `expiry_block` of its chain, at about
    `expiry`: Unix milliseconds of the chain's clock. `opening_fee` is in atoms of FLIP.
    """

    def __init__(
        self,
        answer: Mapping[str, Any],
        source: CoreAsset,
        destination: CoreAsset,
        opened: NewChannel,
        expiry: int,
    ) -> None:
        super().__init__(answer)
        self.id: str = opened.identity
        self.address: str = opened.address
        self.chain: str = source.chain
        self.asset: str = source.name
        self.destination: str = destination.name
        self.expiry_block: int = opened.expiry_block
        self.expiry: int = expiry
        self.opening_fee: int = opened.opening_fee

    def __missing__(self, name: object) -> Never:
        """Raise KeyError with the members that the name may mean."""
        hint = did_you_mean(str(name), self) or f" Choose from {', '.join(self)}."
        raise KeyError(f"unknown member {str(name)[:40]!r} of a channel.{hint}")

    def __repr__(self) -> str:
        """Return the attributes that a test looks at: id, address, asset and expiry."""
        return (
            f"Channel(id={self.id!r}, address={self.address!r}, asset={self.asset!r}, expiry={self.expiry})"
        )


def open_channel(
    source: Asset, destination: Asset, address: str, refund_address: str, commission_bps: int,
    options: Mapping[str, Any],
) -> Call[Channel]:  # fmt: skip
    """Open a deposit channel of the node's broker; `options`: `CHANNEL_OPTIONS`, None for a missing one."""
    for name in options:
        if name not in CHANNEL_OPTIONS:
            hint = did_you_mean(name, CHANNEL_OPTIONS) or f" Choose from {', '.join(CHANNEL_OPTIONS)}."
            raise TypeError(f"unknown argument {name!r}.{hint}")
    sold, bought = asset_of(source), asset_of(destination)
    fields = {name: value for name, value in options.items() if value is not None}
    fields.setdefault(
        "refund_parameters", {"retry_duration": 0, "min_price": "0x0", "refund_address": refund_address}
    )

    def steps(session: ClientSession) -> Steps[Channel]:
        request = (wire_asset(sold), wire_asset(bought), address, commission_bps)
        answer = yield from ask(session, METHOD, *request, *map(fields.get, CHANNEL_OPTIONS))
        opened = read_opened(answer, sold.chain, session.rpc_url)
        expiry = yield from estimated_expiry(session, sold.chain, opened.expiry_block)
        return Channel(answer, sold, bought, opened, expiry)

    return dev_call(steps)


def deposit(
    method: str,
    receiver: str | Channel,
    asset: Asset | None,
    amount: Quantity | None,
    transaction: str | None,
) -> Call[str]:
    """Announce or witness a deposit into a channel or at an address.

    The asset may be left out for a channel. Returns the hash of the deposit's block.
    """
    if isinstance(receiver, Channel):
        asset = receiver.asset if asset is None else asset
        receiver = receiver.address
    if asset is None:
        raise TypeError(
            "the asset is missing: pass it behind the address, or pass the channel for its address"
        )
    if amount is None:
        text = (
            'the amount is missing: pass whole units as text (amount="0.1") or base units (amount=10_000_000)'
        )
        raise TypeError(text)
    paid_asset = asset_of(asset)
    paid = base_units_or_none(amount, paid_asset, "amount")
    return call(method, receiver, wire_asset(paid_asset), hex(paid), transaction)
